#include "kernels/cpu/loops/small_program.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/arithmetic.h"
#include "kernels/cpu/loops/access_runs.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {
namespace {

using loops::Access;
using loops::LoopProgram;
using loops::RuntimeStart;

constexpr int64_t kMaxLoads = 3;
// The copies of an access that is not contiguous, and the calls of a program with copies.
constexpr int64_t kMaxRuns = 16;
constexpr size_t kMaxCalls = 128;

bool FitsParameter(int64_t value) { return value == static_cast<int32_t>(value); }

class SmallCompiler {
 public:
  explicit SmallCompiler(const LoopProgram& program)
      : program_(program),
        is_long_(program.inner_count() > SmallProgram::kMaxInFrame),
        registers_(program.steps().size()),
        places_(program.steps().size()),
        small_{.count = program.inner_count()} {}

  // Compiles the program, and the reduction of the value that it yields.
  std::optional<SmallProgram> Compile(const loops::ReduceProgram* reduction) {
    // The row of a long program must be a single call from memory to memory.
    if (is_long_ && (reduction != nullptr || program_.steps().size() > kMaxLoads + 1)) return std::nullopt;
    AssignRegisters();
    if (reduction != nullptr) register_count_ += kReductionRegisters;
    int64_t widest = 1;
    for (const LoopProgram::Step& step : program_.steps()) widest = std::max(widest, LaneBytes(step.lane));
    if (small_.count > TileLength(LargestTile(), widest * register_count_)) return std::nullopt;
    register_bytes_ = RoundUp(widest * small_.count, 16);
    if (!is_long_ && register_bytes_ * register_count_ > SmallProgram::kScratchBytes) return std::nullopt;
    if (!AddSteps()) return std::nullopt;
    if (reduction != nullptr) AddReduction(*reduction);
    if (start_count_ > SmallProgram::kMaxStarts) return std::nullopt;
    if (small_.is_for_loops && small_.calls.size() > kMaxCalls) return std::nullopt;
    if (is_long_ && !IsOneCallInMemory()) return std::nullopt;
    return std::move(small_);
  }

 private:
  using Place = SmallProgram::Place;
  static constexpr int32_t kReductionRegisters = 2;

  bool AddSteps() {
    for (size_t s = 0; s < program_.steps().size(); ++s) {
      if (!(program_.steps()[s].IsLoad() ? AddLoad(s) : AddOperation(s))) return false;
    }
    const auto stores = program_.stores();
    return std::all_of(stores.begin(), stores.end(), [&](const auto& stored) { return AddStore(stored); });
  }

  // Folds the yielded value, combines the sum with the initial value, and stores it.
  void AddReduction(const loops::ReduceProgram& reduction) {
    const loops::Value value = program_.yields()[0];
    const loops::Reduction::Result& result = reduction.results[0];
    const auto width = static_cast<int32_t>(LaneBytes(LaneOf(result.init_type)));
    const auto reserved = [&](int32_t number) {
      return Place{Place::kScratch, 0, (register_count_ - 1 - number) * register_bytes_, width};
    };
    const Place sum = reserved(0);
    small_.is_for_loops = true;
    AddCall(FindTileFold(*reduction.fold, result.init_type), sum, places_[value]);
    Place init{result.init, 0, 0, static_cast<int32_t>(ByteCount(result.init_type))};
    if (const TileCall widen = LoadTile(result.init_type); widen.function != nullptr) {
      small_.calls.push_back({widen, 1, reserved(1), {init}});
      init = reserved(1);
    }
    const TileCall narrow = StoreTile(result.output_type);
    const Place memory{result.output, 0, 0, static_cast<int32_t>(ByteCount(result.output_type))};
    small_.calls.push_back({FindTileCall(*reduction.BinaryOperation()),
                            1,
                            narrow.function == nullptr ? memory : sum,
                            {init, sum}});
    if (narrow.function != nullptr) small_.calls.push_back({narrow, 1, memory, {sum}});
  }

  bool IsScalar(const Access& access) const { return small_.count > 1 && LoopProgram::IsInvariant(access); }
  bool IsDense(const Access& access) const {
    return LoopProgram::IsInvariant(access) ? small_.count == 1 : program_.IsContiguous(access);
  }

  // Assigns a register to each value; a register is free after the last use of its value.
  void AssignRegisters() {
    const auto steps = program_.steps();
    std::vector<size_t> last_use(steps.size(), 0);
    for (size_t s = 0; s < steps.size(); ++s) {
      for (const loops::Value operand : steps[s].operands()) last_use[operand] = s;
    }
    for (const LoopProgram::Stored& stored : program_.stores()) last_use[stored.value] = steps.size();
    for (const loops::Value value : program_.yields()) last_use[value] = steps.size();
    std::vector<int32_t> free_registers;
    for (size_t s = 0; s < steps.size(); ++s) {
      const auto value = static_cast<loops::Value>(s);
      const bool stays = steps[s].IsLoad() && IsScalar(program_.access(steps[s].access));
      if (free_registers.empty() || stays) {
        registers_[s] = register_count_++;
      } else {
        registers_[s] = free_registers.back();
        free_registers.pop_back();
      }
      if (stays) last_use[s] = steps.size();
      const auto release = [&](loops::Value used) {
        if (last_use[used] != s) return;
        last_use[used] = steps.size();  // Prevents a second release.
        free_registers.push_back(registers_[used]);
      };
      for (const loops::Value operand : steps[s].operands()) release(operand);
      if (last_use[s] == 0 && s != 0) release(value);
    }
    ++register_count_;
  }

  Place InRegister(size_t value) const {
    return {Place::kScratch, 0, registers_[value] * register_bytes_,
            static_cast<int32_t>(LaneBytes(program_.steps()[value].lane))};
  }
  Place InMemory(const Access& access) {
    const int64_t width = ByteCount(access.type);
    Place place{access.argument, 0, access.offset * width, static_cast<int32_t>(width)};
    if (!access.starts.empty()) place.start = AddStarts(access, 0);
    return place;
  }
  // Returns the number of the starts of an access at a position.
  int32_t AddStarts(const Access& access, int64_t position) {
    ++start_count_;
    for (const RuntimeStart& s : access.starts) {
      const int64_t element =
          s.place.has_value() ? ValueAt(*s.place, program_.inner_dims(), position) : s.element;
      small_.starts.push_back({s.argument, s.type, element * ByteCount(s.type), s.max,
                               s.stride * ByteCount(access.type), start_count_});
    }
    return start_count_;
  }

  // Each function returns false if the program is not small.

  bool AddLoad(size_t value) {
    const LoopProgram::Step& step = program_.steps()[value];
    const Access& access = program_.access(step.access);
    const TileCall widen = access.IsArray() ? LoadTile(access.type) : TileCall();
    const bool is_simple = access.IsArray() && (IsScalar(access) || IsDense(access));
    places_[value] = InRegister(value);
    // A scalar that needs a conversion would have to be widened before it is splat.
    if (!is_simple || (IsScalar(access) && widen.function != nullptr)) return AddRuns(value, access, widen);
    const Place memory = InMemory(access);
    if (IsScalar(access))
      AddCall(SplatTile(step.lane), places_[value], memory);
    else if (widen.function != nullptr)
      AddCall(widen, places_[value], memory);
    else
      places_[value] = memory;
    return true;
  }

  void AddCall(const TileCall& call, const Place& out, const Place& in) {
    small_.calls.push_back({call, small_.count, out, {in}});
  }

  // Copies the elements run by run.
  bool AddRuns(size_t value, const Access& access, const TileCall& widen) {
    if (is_long_) return false;
    const std::optional<std::vector<AccessRun>> runs =
        RunsOf(program_, access, kMaxRuns, widen.function == nullptr);
    if (!runs.has_value()) return false;
    small_.is_for_loops = true;
    const Lane lane = program_.steps()[value].lane;
    for (const AccessRun& run : *runs) {
      const Place out = Shifted(places_[value], run.first);
      if (run.argument != AccessRun::kNumbers) {
        const TileCall copy = run.count > 1 && run.stride == 0 ? SplatTile(lane) : CopyTile(lane);
        small_.calls.push_back(
            {widen.function != nullptr ? widen : copy, run.count, out, {InMemory(run, access.type)}});
      } else if (FitsParameter(run.element) && FitsParameter(run.stride)) {
        const TileCall iota =
            IotaTile(lane, static_cast<int32_t>(run.element), static_cast<int32_t>(run.stride));
        small_.calls.push_back({iota, run.count, out, {}});
      } else {
        return false;
      }
    }
    return true;
  }

  static Place Shifted(Place place, int64_t elements) {
    place.offset += elements * place.width;
    return place;
  }

  Place InMemory(const AccessRun& run, ElementType type) {
    const int64_t width = ByteCount(type);
    Place place{run.argument, 0, run.element * width, static_cast<int32_t>(width)};
    if (run.moved_by == nullptr) return place;
    if (run.has_own_starts()) {
      place.start = AddStarts(*run.moved_by, run.first);
    } else {
      const auto [known, is_new] = starts_of_.try_emplace(run.moved_by, 0);
      if (is_new) known->second = AddStarts(*run.moved_by, run.first);
      place.start = known->second;
    }
    return place;
  }

  // Returns the access through which an operation stores its value while it computes it, or null: the first
  // one, if it needs no conversion.
  const Access* StoredAs(size_t value) const {
    for (const LoopProgram::Stored& stored : program_.stores()) {
      const Access& access = program_.access(stored.access);
      if (static_cast<size_t>(stored.value) == value && loops::IsStoredAsLane(access.type)) return &access;
    }
    return nullptr;
  }

  bool AddOperation(size_t value) {
    const LoopProgram::Step& step = program_.steps()[value];
    const Access* stored_as = StoredAs(value);
    places_[value] = stored_as != nullptr && IsDense(*stored_as) ? InMemory(*stored_as) : InRegister(value);
    SmallProgram::Call call{FindTileCall(step.operation), small_.count, places_[value], {}};
    for (int k = 0; k < step.operand_count; ++k) call.in[k] = places_[step.in[k]];
    small_.calls.push_back(call);
    return true;
  }

  bool AddStore(const LoopProgram::Stored& stored) {
    const LoopProgram::Step& step = program_.steps()[stored.value];
    const Access& access = program_.access(stored.access);
    if (access.drops) return false;
    const TileCall narrow = StoreRoundedTile(access.type);
    const TileCall copy = narrow.function != nullptr ? narrow : CopyTile(step.lane);
    if (IsDense(access)) {
      if (step.IsLoad() || StoredAs(stored.value) != &access)
        AddCall(copy, InMemory(access), places_[stored.value]);
      return true;
    }
    if (is_long_ || !access.edges.empty()) return false;
    const std::optional<std::vector<AccessRun>> runs = RunsOf(program_, access, kMaxRuns, false);
    if (!runs.has_value()) return false;
    small_.is_for_loops = true;
    for (const AccessRun& run : *runs)
      small_.calls.push_back(
          {copy, run.count, InMemory(run, access.type), {Shifted(places_[stored.value], run.first)}});
    return true;
  }

  bool IsOneCallInMemory() const {
    const auto is_scratch = [](const Place& place) {
      return place.width > 0 && place.argument == Place::kScratch;
    };
    return small_.calls.size() == 1 && !is_scratch(small_.calls[0].out) &&
           std::none_of(small_.calls[0].in.begin(), small_.calls[0].in.end(), is_scratch);
  }

  const LoopProgram& program_;
  const bool is_long_;
  std::vector<int32_t> registers_;  // Indexed by value.
  std::vector<Place> places_;       // Indexed by value.
  int32_t register_count_ = 0, start_count_ = 0;
  int64_t register_bytes_ = 0;
  absl::flat_hash_map<const Access*, int32_t> starts_of_;  // The numbers of starts that all runs share.
  SmallProgram small_;
};

}  // namespace

std::optional<SmallProgram> CompileSmall(const LoopProgram& program) {
  if (program.outer_count() != 1 || program.inner_count() == 0 || program.inner_count() > LargestTile() ||
      !program.yields().empty() || (program.IsCopy() && program.inner_count() > SmallProgram::kMaxInFrame))
    return std::nullopt;
  return SmallCompiler(program).Compile(nullptr);
}

std::optional<SmallProgram> CompileSmall(const loops::ReduceProgram& reduction) {
  const LoopProgram& body = reduction.body;
  const bool folds = reduction.rows && reduction.fold.has_value() && reduction.part_length == 1 &&
                     reduction.pick == loops::Reduction::Pick::kNone &&
                     reduction.BinaryOperation() != nullptr && reduction.results.size() == 1;
  if (!folds || body.outer_count() != 1 || body.inner_count() == 0 || body.yields().size() != 1 ||
      FindTileFold(*reduction.fold, reduction.results[0].init_type).function == nullptr)
    return std::nullopt;
  return SmallCompiler(body).Compile(&reduction);
}

void SmallProgram::Run(void* const* arguments) const {
  alignas(64) std::byte scratch[kScratchBytes];
  int64_t moved[kMaxStarts + 1];
  moved[0] = 0;
  int32_t last = 0;
  for (const Start& start : starts) {
    const int64_t position =
        ReadInteger(start.type, static_cast<const std::byte*>(arguments[start.argument]) + start.byte_offset);
    if (start.number != last) moved[last = start.number] = 0;
    moved[last] += std::min(std::max<int64_t>(position, 0), start.max) * start.byte_stride;
  }
  const auto at = [&](const Place& place) {
    std::byte* base = place.argument < 0 ? scratch : static_cast<std::byte*>(arguments[place.argument]);
    return base + place.offset + moved[place.start];
  };
  for (const Call& call : calls) {
    const void* in[3] = {at(call.in[0]), at(call.in[1]), at(call.in[2])};
    call.call.function(call.count, at(call.out), in, call.call.parameter);
  }
}

}  // namespace hlo::cpu
