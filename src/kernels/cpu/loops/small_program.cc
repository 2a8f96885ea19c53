#include "kernels/cpu/loops/small_program.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {
namespace {

using loops::Access;
using loops::LoopProgram;
using loops::RuntimeStart;

constexpr int64_t kMaxLoads = 3;

class SmallCompiler {
 public:
  explicit SmallCompiler(const LoopProgram& program)
      : program_(program),
        is_long_(program.inner_count() > SmallProgram::kMaxInFrame),
        registers_(program.steps().size()),
        places_(program.steps().size()),
        small_{.count = program.inner_count()} {}

  std::optional<SmallProgram> Compile() {
    // The row of a long program must be a single call from memory to memory.
    if (is_long_ && program_.steps().size() > kMaxLoads + 1) return std::nullopt;
    AssignRegisters();
    int64_t widest = 1;
    for (const LoopProgram::Step& step : program_.steps()) widest = std::max(widest, LaneBytes(step.lane));
    if (small_.count > TileLength(LargestTile(), widest * register_count_)) return std::nullopt;
    register_bytes_ = RoundUp(widest * small_.count, 16);
    if (!is_long_ && register_bytes_ * register_count_ > SmallProgram::kScratchBytes) return std::nullopt;
    for (size_t s = 0; s < program_.steps().size(); ++s) {
      if (!(program_.steps()[s].IsLoad() ? AddLoad(s) : AddOperation(s))) return std::nullopt;
    }
    for (const LoopProgram::Stored& stored : program_.stores()) {
      if (!AddStore(stored)) return std::nullopt;
    }
    if (start_count_ > SmallProgram::kMaxStarts) return std::nullopt;
    if (is_long_ && !IsOneCallInMemory()) return std::nullopt;
    return std::move(small_);
  }

 private:
  using Place = SmallProgram::Place;

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
    if (access.starts.empty()) return place;
    place.start = ++start_count_;
    for (const RuntimeStart& s : access.starts)
      small_.starts.push_back(
          {s.argument, s.type, s.element * ByteCount(s.type), s.max, s.stride * width, place.start});
    return place;
  }

  // Each function returns false if the program is not small.

  bool AddLoad(size_t value) {
    const LoopProgram::Step& step = program_.steps()[value];
    const Access& access = program_.access(step.access);
    if (!access.IsArray() || !(IsScalar(access) || IsDense(access))) return false;
    const TileCall widen = LoadTile(access.type);
    // A scalar that needs a conversion is not supported, because it would have to be widened before it is
    // splat.
    if (IsScalar(access) && widen.function != nullptr) return false;
    places_[value] = InRegister(value);
    const Place memory = InMemory(access);
    if (IsScalar(access))
      small_.calls.push_back({SplatTile(step.lane), places_[value], {memory}});
    else if (widen.function != nullptr)
      small_.calls.push_back({widen, places_[value], {memory}});
    else
      places_[value] = memory;
    return true;
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
    SmallProgram::Call call{FindTileCall(step.operation), places_[value], {}};
    for (int k = 0; k < step.operand_count; ++k) call.in[k] = places_[step.in[k]];
    small_.calls.push_back(call);
    return true;
  }

  bool AddStore(const LoopProgram::Stored& stored) {
    const LoopProgram::Step& step = program_.steps()[stored.value];
    const Access& access = program_.access(stored.access);
    if (!IsDense(access) || access.drops) return false;
    if (!step.IsLoad() && StoredAs(stored.value) == &access) return true;
    const TileCall narrow = StoreRoundedTile(access.type);
    small_.calls.push_back({narrow.function != nullptr ? narrow : CopyTile(step.lane),
                            InMemory(access),
                            {places_[stored.value]}});
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
  SmallProgram small_;
};

}  // namespace

std::optional<SmallProgram> CompileSmall(const LoopProgram& program) {
  if (program.outer_count() != 1 || program.inner_count() == 0 || program.inner_count() > LargestTile() ||
      !program.yields().empty() || (program.IsCopy() && program.inner_count() > SmallProgram::kMaxInFrame))
    return std::nullopt;
  return SmallCompiler(program).Compile();
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
    call.call.function(count, at(call.out), in, call.call.parameter);
  }
}

}  // namespace hlo::cpu
