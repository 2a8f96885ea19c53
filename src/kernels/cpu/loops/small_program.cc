#include "kernels/cpu/loops/small_program.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "base/arithmetic.h"
#include "kernels/cpu/elementwise/small_tiles.h"
#include "kernels/cpu/loops/access_runs.h"
#include "kernels/cpu/loops/operand_count.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {
namespace {

using loops::Access;
using loops::LoopProgram;
using loops::RuntimeStart;

constexpr int64_t kMaxLoads = 3;
// The copies of an access that is not contiguous, of a store and of rows at indices, and the calls of a
// program with copies.
constexpr int64_t kMaxRuns = 16, kMaxStoredRuns = 32, kMaxRowsAtIndices = 32;
constexpr size_t kMaxCalls = 256;
// With more runs, one call that reads rows is faster than copies.
constexpr int64_t kMaxCopiedRuns = 4;
constexpr int64_t kMaxBytesOfRows = 1024;
// Programs with more scratch memory are only for bytecode in loops, and with more vectors a tile program is
// faster.
constexpr int64_t kScratchOfAll = 2048, kMaxVectors = 88;
// More elements are in scratch memory only if the program is no single call on arguments.
constexpr int64_t kMaxInFrameAlways = 64;
// The elements of a single row that is reduced. ShortRows adds as many in the same order.
constexpr int64_t kMaxFolded = 512;

bool FitsParameter(int64_t value) { return value == static_cast<int32_t>(value); }

class SmallCompiler {
 public:
  SmallCompiler(const LoopProgram& program, bool is_in_memory)
      : program_(program),
        is_in_memory_(is_in_memory),
        registers_(program.steps().size()),
        operands_(program.steps().size()),
        small_{.count = program.inner_count(), .is_in_memory = is_in_memory} {}

  // Compiles the program, and the reduction of the value that it yields, of which there are several rows.
  std::optional<SmallProgram> Compile(const loops::ReduceProgram* reduction, int64_t rows = 1) {
    if (is_in_memory_ && (reduction != nullptr || program_.steps().size() > kMaxLoads + 1))
      return std::nullopt;
    const bool finds = reduction != nullptr && IsArgMinMax(*reduction);
    if (finds) unused_ = PositionsWithoutOtherUse();
    AssignRegisters();
    int64_t widest = 1;
    for (size_t s = 0; s < program_.steps().size(); ++s) {
      if (static_cast<loops::Value>(s) != unused_)
        widest = std::max(widest, ComputeTypeBytes(program_.steps()[s].compute_type));
    }
    if (small_.count > TileLength(LargestTile(), widest * register_count_)) return std::nullopt;
    register_bytes_ = RoundUp(widest * small_.count, 16);
    if (!is_in_memory_ && register_bytes_ * register_count_ > SmallProgram::kScratchBytes)
      return std::nullopt;
    if (!AddSteps()) return std::nullopt;
    // Native code computes more contiguous elements in less time.
    const bool is_regular = reduction == nullptr && !is_in_memory_ && !copies_;
    if (is_regular && small_.count > SmallProgram::kMaxInFrame) return std::nullopt;
    if (reduction != nullptr && !finds) AddFold(*reduction, rows);
    for (int64_t row = 0; finds && row < rows; ++row) {
      if (!AddArgMinMax(*reduction, {row, small_.count / rows})) return std::nullopt;
    }
    if (!is_in_memory_ && scratch_end_ > SmallProgram::kScratchBytes) return std::nullopt;
    if (register_bytes_ * register_count_ > kScratchOfAll && !is_in_memory_) {
      small_.is_for_loops = small_.is_for_bytecode = true;
      if (VectorCount() > kMaxVectors) return std::nullopt;
    }
    if (start_count_ > SmallProgram::kMaxStarts) return std::nullopt;
    if (small_.is_for_loops && small_.calls.size() > kMaxCalls) return std::nullopt;
    if (is_in_memory_ && !IsOneCallInMemory()) return std::nullopt;
    return std::move(small_);
  }

 private:
  using Operand = SmallProgram::Operand;

  // Returns the number of vectors that the calls compute.
  int64_t VectorCount() const {
    constexpr int64_t kVectorBytes = 64;
    int64_t count = 0;
    for (const SmallProgram::Call& call : small_.calls)
      count +=
          CeilDiv(std::max(call.count * call.out.width, call.ElementsOf(0) * call.in[0].width), kVectorBytes);
    return count;
  }

  bool AddSteps() {
    for (size_t s = 0; s < program_.steps().size(); ++s) {
      if (static_cast<loops::Value>(s) == unused_) continue;
      if (!(program_.steps()[s].IsLoad() ? AddLoad(s) : AddOperation(s))) return false;
    }
    const auto stores = program_.stores();
    return std::all_of(stores.begin(), stores.end(), [&](const auto& stored) { return AddStore(stored); });
  }

  static bool IsArgMinMax(const loops::Reduction& reduction) {
    return reduction.arg_min_max != loops::Reduction::ArgMinMax::kNone;
  }

  // Returns the second yielded value, which is the position, if nothing else uses it; otherwise -1.
  loops::Value PositionsWithoutOtherUse() const {
    const loops::Value positions = program_.yields()[1];
    const auto uses = [&](const LoopProgram::Step& step) {
      return absl::c_linear_search(step.operands(), positions);
    };
    const bool is_used = !program_.steps()[positions].IsLoad() || program_.yields()[0] == positions ||
                         absl::c_any_of(program_.steps(), uses) ||
                         absl::c_any_of(program_.stores(), [&](const LoopProgram::Stored& stored) {
                           return stored.value == positions;
                         });
    return is_used ? -1 : positions;
  }

  // One of the rows that are reduced, and its elements.
  struct Row {
    int64_t number, length;
  };

  // Finds the pair of a row, combines it with the initial values, and stores the results. Returns false if a
  // call does not exist.
  bool AddArgMinMax(const loops::ReduceProgram& reduction, const Row& row) {
    small_.is_for_loops = true;
    scratch_end_ = 0;  // The scalars of other rows are not used any more.
    const Operand values = Shifted(operands_[program_.yields()[0]], row.number * row.length);
    const auto compute_type = [&](size_t k) { return ComputeTypeOf(reduction.results[k].init_type); };
    const bool is_largest = reduction.arg_min_max == loops::Reduction::ArgMinMax::kArgMax;
    const TileCall find = ArgMinMaxTile(compute_type(0), compute_type(1), is_largest, row.length);
    const TileCall take = TakeTile(compute_type(0), compute_type(1), reduction.keeps_last_value, row.length);
    if (find.function == nullptr || take.function == nullptr || row.length == 1) return false;
    const Operand taken = NewScratch(compute_type(0)), position = NewScratch(compute_type(1));
    small_.calls.push_back({find, 1, position, {values}, row.length});
    small_.calls.push_back({take, 1, taken, {values, position}, row.length});
    std::vector<Operand> at;
    for (const loops::Reduction::Result& result : reduction.results) at.push_back(AddInit(result));
    at.push_back(taken);
    at.push_back(position);
    const loops::ScalarFunction& combiner = reduction.combiner;
    at.resize(combiner.value_count());
    for (const loops::ScalarFunction::Step& step : combiner.steps()) {
      const TileCall call = FindTileCall(step.operation);
      if (call.function == nullptr) return false;
      at[step.out] = NewScratch(combiner.compute_type(step.out));
      SmallProgram::Call each{call, 1, at[step.out], {}};
      for (int k = 0; k < OperandCount(step.operation); ++k) each.in[k] = at[step.in[k]];
      small_.calls.push_back(each);
    }
    for (size_t k = 0; k < reduction.results.size(); ++k)
      AddResult(reduction.results[k], row.number, at[combiner.yields()[k]]);
    return true;
  }

  // Returns a scratch operand behind the registers.
  Operand NewScratch(ComputeType compute_type, int64_t count = 1) {
    if (scratch_end_ == 0) scratch_end_ = register_count_ * register_bytes_;
    const int64_t width = ComputeTypeBytes(compute_type), at = scratch_end_;
    scratch_end_ += RoundUp(count * width, 16);
    return {Operand::kScratch, 0, at, static_cast<int32_t>(width)};
  }
  // Returns the initial value in its compute type.
  Operand AddInit(const loops::Reduction::Result& result) {
    const Operand init{result.init, 0, 0, static_cast<int32_t>(ByteCount(result.init_type))};
    const TileCall widen = LoadTile(result.init_type);
    if (widen.function == nullptr) return init;
    const Operand wide = NewScratch(ComputeTypeOf(result.init_type));
    small_.calls.push_back({widen, 1, wide, {init}});
    return wide;
  }
  void AddResult(const loops::Reduction::Result& result, int64_t row, const Operand& value) {
    const TileCall narrow = StoreTile(result.output_type);
    const TileCall copy = narrow.function != nullptr ? narrow : CopyTile(ComputeTypeOf(result.output_type));
    small_.calls.push_back({copy, 1, OutputOf(result, row), {value}});
  }
  static Operand OutputOf(const loops::Reduction::Result& result, int64_t row) {
    const int64_t width = ByteCount(result.output_type);
    return {result.output, 0, row * width, static_cast<int32_t>(width)};
  }

  // Folds the rows of the yielded value, combines the results with the initial value, and stores them.
  void AddFold(const loops::ReduceProgram& reduction, int64_t rows) {
    small_.is_for_loops = true;
    const loops::Reduction::Result& result = reduction.results[0];
    const ComputeType compute_type = ComputeTypeOf(result.init_type);
    const Operand folded = NewScratch(compute_type, rows);
    small_.calls.push_back({FindRowsFold(*reduction.fold, result.init_type, small_.count / rows),
                            rows,
                            folded,
                            {operands_[program_.yields()[0]]},
                            small_.count});
    Operand init = AddInit(result);
    if (rows > 1) {
      const Operand spread = NewScratch(compute_type, rows);
      small_.calls.push_back({SplatTile(compute_type), rows, spread, {init}});
      init = spread;
    }
    const TileCall combine = FindTileCall(*reduction.BinaryOperation()),
                   narrow = StoreTile(result.output_type);
    const Operand memory = OutputOf(result, 0);
    small_.calls.push_back({combine, rows, narrow.function == nullptr ? memory : folded, {init, folded}});
    if (narrow.function != nullptr) small_.calls.push_back({narrow, rows, memory, {folded}});
  }

  bool IsScalar(const Access& access) const { return small_.count > 1 && LoopProgram::IsInvariant(access); }
  bool IsDense(const Access& access) const {
    return LoopProgram::IsInvariant(access) ? small_.count == 1 : program_.IsContiguous(access);
  }

  // Returns true if operations read the loaded elements where they are.
  bool IsReadInPlace(const LoopProgram::Step& step) const {
    if (!step.IsLoad()) return false;
    const Access& access = program_.access(step.access);
    return access.IsArray() && IsDense(access) && !IsScalar(access) &&
           LoadTile(access.type).function == nullptr;
  }
  // Assigns a register to each value that is not read in place; it is free after the last use of the value.
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
      if (value == unused_ || IsReadInPlace(steps[s])) continue;
      const bool stays = steps[s].IsLoad() && IsScalar(program_.access(steps[s].access));
      if (free_registers.empty() || stays) {
        registers_[s] = register_count_++;
      } else {
        registers_[s] = free_registers.back();
        free_registers.pop_back();
      }
      if (stays) last_use[s] = steps.size();
      const auto release = [&](loops::Value used) {
        if (last_use[used] != s || IsReadInPlace(steps[used])) return;
        last_use[used] = steps.size();  // Prevents a second release.
        free_registers.push_back(registers_[used]);
      };
      for (const loops::Value operand : steps[s].operands()) release(operand);
      if (last_use[s] == 0 && s != 0) release(value);
    }
    ++register_count_;
  }

  Operand InRegister(size_t value) const {
    return {Operand::kScratch, 0, registers_[value] * register_bytes_,
            static_cast<int32_t>(ComputeTypeBytes(program_.steps()[value].compute_type))};
  }
  Operand InMemory(const Access& access) {
    const int64_t width = ByteCount(access.type);
    Operand operand{access.argument, 0, access.offset * width, static_cast<int32_t>(width)};
    if (!access.starts.empty()) operand.start = AddStarts(access, 0);
    return operand;
  }
  // Returns the number of the starts of an access at a position.
  int32_t AddStarts(const Access& access, int64_t position) {
    ++start_count_;
    for (const RuntimeStart& s : access.starts) {
      const int64_t element =
          s.index.has_value() ? ValueAt(*s.index, program_.inner_dims(), position) : s.element;
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
    if (IsReadInPlace(step)) {
      operands_[value] = InMemory(access);
      return true;
    }
    operands_[value] = InRegister(value);
    // A scalar that needs a conversion would have to be widened before it is splat.
    if (!is_simple || (IsScalar(access) && widen.function != nullptr)) return AddRuns(value, access, widen);
    const Operand memory = InMemory(access);
    if (IsScalar(access))
      AddCall(SplatTile(step.compute_type), operands_[value], memory);
    else
      AddCall(widen, operands_[value], memory);
    return true;
  }

  void AddCall(const TileCall& call, const Operand& out, const Operand& in) {
    small_.calls.push_back({call, small_.count, out, {in}});
  }

  // Copies the elements run by run.
  bool AddRuns(size_t value, const Access& access, const TileCall& widen) {
    if (is_in_memory_) return false;
    std::optional<std::vector<AccessRun>> runs =
        RunsOf(program_, access, kMaxCopiedRuns, widen.function == nullptr);
    if (!runs.has_value() && widen.function == nullptr &&
        (AddRows(value, access) || AddGather(value, access)))
      return true;
    const int64_t most = access.IsRegular() || !access.edges.empty() ? kMaxRuns : kMaxRowsAtIndices;
    if (!runs.has_value()) runs = RunsOf(program_, access, most, widen.function == nullptr);
    if (!runs.has_value()) return false;
    small_.is_for_loops = copies_ = true;
    const ComputeType compute_type = program_.steps()[value].compute_type;
    if (const std::optional<TileCall> bits = BitsOf(compute_type, *runs); bits.has_value()) {
      small_.calls.push_back({*bits, small_.count, operands_[value], {}});
      return true;
    }
    for (const AccessRun& run : *runs) {
      const Operand out = Shifted(operands_[value], run.first);
      if (run.argument != AccessRun::kNumbers) {
        const TileCall copy =
            run.count > 1 && run.stride == 0 ? SplatTile(compute_type) : CopyTile(compute_type);
        small_.calls.push_back(
            {widen.function != nullptr ? widen : copy, run.count, out, {InMemory(run, access.type)}});
      } else if (FitsParameter(run.element) && FitsParameter(run.stride)) {
        const TileCall iota =
            IotaTile(compute_type, static_cast<int32_t>(run.element), static_cast<int32_t>(run.stride));
        small_.calls.push_back({iota, run.count, out, {}});
      } else {
        return false;
      }
    }
    return true;
  }

  // Returns the call that writes all predicates if they are constants and few; otherwise nullopt.
  std::optional<TileCall> BitsOf(ComputeType compute_type, absl::Span<const AccessRun> runs) const {
    constexpr int64_t kMaxBits = 64;
    if (compute_type != ComputeType::kPred || small_.count > kMaxBits) return std::nullopt;
    uint64_t bits = 0;
    for (const AccessRun& run : runs) {
      if (run.argument != AccessRun::kNumbers) return std::nullopt;
      for (int64_t k = 0; k < run.count; ++k) {
        const bool is_true = run.element + k * run.stride != 0;
        bits |= uint64_t{is_true} << (run.first + k);
      }
    }
    return BitsTile(bits);
  }

  // Reads the rows of the last two dimensions with one call each. Returns false if the access has others.
  bool AddRows(size_t value, const Access& access) {
    const auto dims = program_.inner_dims();
    const size_t rank = dims.size();
    if (!access.IsArray() || !access.IsRegular() || rank == 0 || absl::c_any_of(access.inner, IsNegative))
      return false;
    const bool has_rows = rank > 1;
    const TileRows rows{dims.back(), has_rows ? access.inner[rank - 2] : 0, access.inner.back()};
    const int64_t count = rows.length * (has_rows ? dims[rank - 2] : 1), extent = rows.Extent(count);
    const TileCall call = RowsTile(ByteCount(access.type), rows);
    if (call.function == nullptr || small_.count / count > kMaxRuns ||
        extent * ByteCount(access.type) > kMaxBytesOfRows)
      return false;
    small_.is_for_loops = copies_ = true;
    Operand from = InMemory(access);
    const int64_t first = from.offset;
    for (int64_t position = 0; position < small_.count; position += count) {
      const loops::Affine affine{0, {}, access.inner};
      from.offset = first + ValueAt(affine, dims, position) * from.width;
      small_.calls.push_back({call, count, Shifted(operands_[value], position), {from}, extent});
    }
    return true;
  }
  // Gathers elements by an array of indices along the last dimension, with one call for all positions or for
  // each row. Returns false for other accesses, for many rows, and for large arrays.
  bool AddGather(size_t value, const Access& access) {
    if (!access.IsArray() || access.starts.size() != 1 || !access.edges.empty()) return false;
    const RuntimeStart& start = access.starts[0];
    const auto is_zero = [](int64_t stride) { return stride == 0; };
    const auto dims = program_.inner_dims();
    const int64_t width = ByteCount(access.type), index_width = ByteCount(start.type);
    const bool is_whole = absl::c_all_of(access.inner, is_zero);
    const int64_t count = is_whole ? small_.count : dims.back();
    const bool is_one_by_one = start.index.has_value() && start.stride == 1 &&
                               program_.IsContiguous(start.index->inner) &&
                               (is_whole || access.inner.back() == 0);
    if (!is_one_by_one || small_.count / count > kMaxRuns || (start.max + 1) * width > kMaxBytesOfRows)
      return false;
    const TileCall call = GatherTile(width, start.type, start.max);
    if (call.function == nullptr) return false;
    small_.is_for_loops = copies_ = true;
    const loops::Affine affine{access.offset, {}, access.inner};
    for (int64_t position = 0; position < small_.count; position += count) {
      const Operand from{access.argument, 0, ValueAt(affine, dims, position) * width,
                         static_cast<int32_t>(width)};
      const Operand indices{start.argument, 0, (start.index->offset + position) * index_width,
                            static_cast<int32_t>(index_width)};
      small_.calls.push_back(
          {call, count, Shifted(operands_[value], position), {from, indices}, start.max + 1});
    }
    return true;
  }
  static bool IsNegative(int64_t value) { return value < 0; }

  static Operand Shifted(Operand operand, int64_t elements) {
    operand.offset += elements * operand.width;
    return operand;
  }

  Operand InMemory(const AccessRun& run, ElementType type) {
    const int64_t width = ByteCount(type);
    Operand operand{run.argument, 0, run.element * width, static_cast<int32_t>(width)};
    if (run.moved_by == nullptr) return operand;
    if (run.has_own_starts()) {
      operand.start = AddStarts(*run.moved_by, run.first);
    } else {
      const auto [known, is_new] = starts_of_.try_emplace(run.moved_by, 0);
      if (is_new) known->second = AddStarts(*run.moved_by, run.first);
      operand.start = known->second;
    }
    return operand;
  }

  // Returns the access through which an operation stores its value while it computes it, or null: the first
  // one, if it needs no conversion.
  const Access* StoredAs(size_t value) const {
    for (const LoopProgram::Stored& stored : program_.stores()) {
      const Access& access = program_.access(stored.access);
      if (static_cast<size_t>(stored.value) == value && loops::IsStoredAsComputed(access.type))
        return &access;
    }
    return nullptr;
  }

  bool AddOperation(size_t value) {
    const LoopProgram::Step& step = program_.steps()[value];
    const Access* stored_as = StoredAs(value);
    operands_[value] = stored_as != nullptr && IsDense(*stored_as) ? InMemory(*stored_as) : InRegister(value);
    SmallProgram::Call call{FindTileCall(step.operation), small_.count, operands_[value], {}};
    for (int k = 0; k < step.operand_count; ++k) call.in[k] = operands_[step.in[k]];
    small_.calls.push_back(call);
    return true;
  }

  bool AddStore(const LoopProgram::Stored& stored) {
    const LoopProgram::Step& step = program_.steps()[stored.value];
    const Access& access = program_.access(stored.access);
    if (access.drops) return false;
    const TileCall narrow = StoreRoundedTile(access.type);
    const TileCall copy = narrow.function != nullptr ? narrow : CopyTile(step.compute_type);
    if (IsDense(access)) {
      if (step.IsLoad() || StoredAs(stored.value) != &access)
        AddCall(copy, InMemory(access), operands_[stored.value]);
      return true;
    }
    if (is_in_memory_ || !access.edges.empty()) return false;
    const std::optional<std::vector<AccessRun>> runs = RunsOf(program_, access, kMaxStoredRuns, false);
    if (!runs.has_value()) return false;
    small_.is_for_loops = copies_ = true;
    for (const AccessRun& run : *runs)
      small_.calls.push_back(
          {copy, run.count, InMemory(run, access.type), {Shifted(operands_[stored.value], run.first)}});
    return true;
  }

  bool IsOneCallInMemory() const {
    const auto is_scratch = [](const Operand& operand) {
      return operand.width > 0 && operand.argument == Operand::kScratch;
    };
    return small_.calls.size() == 1 && !is_scratch(small_.calls[0].out) &&
           std::none_of(small_.calls[0].in.begin(), small_.calls[0].in.end(), is_scratch);
  }

  const LoopProgram& program_;
  const bool is_in_memory_;
  std::vector<int32_t> registers_;  // Indexed by value.
  std::vector<Operand> operands_;   // Indexed by value.
  int32_t register_count_ = 0, start_count_ = 0;
  int64_t register_bytes_ = 0, scratch_end_ = 0;
  bool copies_ = false;                                    // Elements that are not contiguous are copied.
  loops::Value unused_ = -1;                               // A value that no call needs.
  absl::flat_hash_map<const Access*, int32_t> starts_of_;  // The numbers of starts that all runs share.
  SmallProgram small_;
};

}  // namespace

std::optional<SmallProgram> CompileSmall(const LoopProgram& program) {
  const int64_t count = program.inner_count();
  if (program.outer_count() != 1 || count == 0 || count > LargestTile() || !program.yields().empty())
    return std::nullopt;
  if (count > kMaxInFrameAlways) {
    std::optional<SmallProgram> in_memory = SmallCompiler(program, true).Compile(nullptr);
    if (in_memory.has_value()) in_memory->is_for_loops = program.IsCopy();
    if (in_memory.has_value() || program.IsCopy() || count > SmallProgram::kMaxIrregular) return in_memory;
  }
  return SmallCompiler(program, false).Compile(nullptr);
}

std::optional<SmallProgram> CompileSmall(const loops::ReduceProgram& reduction) {
  const LoopProgram& body = reduction.body;
  const int64_t rows = body.outer_count(), length = body.inner_count();
  const bool is_arg_min_max = reduction.arg_min_max != loops::Reduction::ArgMinMax::kNone;
  const bool folds =
      !is_arg_min_max && reduction.fold.has_value() && reduction.BinaryOperation() != nullptr &&
      reduction.results.size() == 1 && body.yields().size() == 1 &&
      FindRowsFold(*reduction.fold, reduction.results[0].init_type, length).function != nullptr;
  const bool has_tile = is_arg_min_max && !reduction.excludes_nans && reduction.results.size() == 2 &&
                        body.yields().size() == 2 && !reduction.combiner.has_loops();
  if ((!folds && !has_tile) || !reduction.rows || reduction.part_length != 1 || rows == 0 || length == 0 ||
      rows * length > kMaxFolded)
    return std::nullopt;
  return SmallCompiler(rows == 1 ? body : body.JoinRows(), false).Compile(&reduction, rows);
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
  const auto at = [&](const Operand& operand) {
    std::byte* base = operand.argument < 0 ? scratch : static_cast<std::byte*>(arguments[operand.argument]);
    return base + operand.offset + moved[operand.start];
  };
  for (const Call& call : calls) {
    const void* in[3] = {at(call.in[0]), at(call.in[1]), at(call.in[2])};
    call.call.function(call.count, at(call.out), in, call.call.parameter);
  }
}

}  // namespace hlo::cpu
