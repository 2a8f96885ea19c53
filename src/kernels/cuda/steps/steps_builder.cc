#include "kernels/cuda/steps/steps_builder.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/arithmetic.h"
#include "fmt/format.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/reduce/lower_vm32_reduce.h"
#include "kernels/cuda/steps/steps_body.h"
#include "kernels/cuda/vm/lower_loop.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kPerWarp = int64_t{kWarpSize} * kVm32Width, kWarps = StepsKernel::kThreads / kWarpSize;
constexpr int64_t kPerPass = int64_t{StepsKernel::kThreads} * kVm32Width;
// Estimated cycles of a launch in a graph, of the memory accesses of one pass of all threads over their
// positions, and of one instruction of a pass.
constexpr int64_t kLaunchCycles = 4500, kPassCycles = 600, kInstructionCycles = 40;
// Loops before the first jump run only once, so they may have this many times more passes.
constexpr int64_t kMorePasses = 8;
// The launches of concurrent loops have blocks of which several fit a multiprocessor, and at most this many
// blocks per loop.
constexpr uint32_t kConcurrentThreads = 256;
constexpr int64_t kMaxBlocks = 1024;
// The maximal number of bytes of a list of moves.
constexpr int64_t kMaxMovedBytes = 32 << 10;
// The maximal number of labels that a number selects from.
constexpr size_t kMaxLabels = 64;
// The estimated cycles of a term of a product, for all threads.
constexpr int64_t kTermCycles = 40;
constexpr int64_t kMaxDotResults = 8 * StepsKernel::kThreads;

int64_t SlotBytes(const Vm32Template& vm32) {
  return vm32.slot_count * static_cast<int64_t>(StepsKernel::Vm::kSlotBytes);
}

// Returns how the kernel reads and writes elements of up to 32 bits.
std::optional<VmMemory> DotMemory(ElementType type) {
  switch (type) {
    case ElementType::kS8:
      return VmMemory::kS8;
    case ElementType::kU8:
      return VmMemory::kU8;
    case ElementType::kS16:
      return VmMemory::kS16;
    case ElementType::kU16:
      return VmMemory::kU16;
    default:
      return IsPred(type) ? std::nullopt : Vm32ScalarMemory(type);
  }
}

// Returns the types of a product; nullopt if the kernel does not support them.
std::optional<StepDot> DotTypes(ElementType a, ElementType b, ElementType c) {
  const bool is_float = IsFloat(a) && IsFloat(b) && IsFloat(c);
  if (!is_float && !(IsIntegral(a) && IsIntegral(b) && IsIntegral(c))) return std::nullopt;
  using Sum = StepDot::Sum;
  StepDot dot;
  if (BitWidth(c) == 64) {
    if (BitWidth(a) != 64 || BitWidth(b) != 64) return std::nullopt;
    dot.a_memory = dot.b_memory = dot.output_memory = VmMemory::k8;
    dot.sum = is_float ? Sum::kF64 : Sum::kU64;
    return dot;
  }
  const std::optional<VmMemory> left = DotMemory(a), right = DotMemory(b), output = DotMemory(c);
  if (!left.has_value() || !right.has_value() || !output.has_value()) return std::nullopt;
  dot.a_memory = *left;
  dot.b_memory = *right;
  dot.output_memory = *output;
  dot.sum = is_float ? Sum::kF32 : Sum::kU32;
  return dot;
}

// Describes the terms; returns false if they have more than two dimensions.
bool LayOutTerms(const loops::MatrixLayout& a, const loops::MatrixLayout& b, StepDot* dot) {
  const Index &sizes = a.column_sizes, &a_strides = a.column_strides;
  dot->a_term = static_cast<int32_t>(a.column_stride);
  dot->b_term = static_cast<int32_t>(b.row_stride);
  if (sizes.empty()) return b.row_sizes.empty();
  if (sizes.rank() != 2 || b.row_sizes != sizes) return false;
  dot->a_term = static_cast<int32_t>(a_strides[1]);
  dot->b_term = static_cast<int32_t>(b.row_strides[1]);
  dot->a_row = static_cast<int32_t>(a_strides[0]);
  dot->b_row = static_cast<int32_t>(b.row_strides[0]);
  dot->has_rows = true;
  dot->row_length = FastDiv(static_cast<uint32_t>(sizes[1]));
  return true;
}

// Returns the memory accesses of a product, without pointers; nullopt if the kernel does not support them.
std::optional<StepDot> LayOut(const loops::GemmProblem& problem) {
  const loops::MatrixLayout &a = problem.a, &b = problem.b;
  std::optional<StepDot> types = DotTypes(a.type, b.type, problem.c_type);
  if (!types.has_value() || !LayOutTerms(a, b, &*types)) return std::nullopt;
  StepDot& dot = *types;
  dot.terms = static_cast<uint32_t>(problem.k);
  bool fits = true;
  const auto add = [&](int64_t size, int64_t a_stride, int64_t b_stride) {
    fits &= dot.rank < StepDot::kDims;
    if (!fits) return;
    dot.dims[dot.rank++] = {FastDiv(static_cast<uint32_t>(size)), static_cast<int32_t>(a_stride),
                            static_cast<int32_t>(b_stride)};
  };
  for (int64_t d = 0; d < problem.batch_dims.rank(); ++d)
    add(problem.batch_dims[d], a.batch_strides[d], b.batch_strides[d]);
  for (int64_t d = 0; d < a.row_sizes.rank(); ++d) add(a.row_sizes[d], a.row_strides[d], 0);
  if (a.row_sizes.empty()) add(problem.m, a.row_stride, 0);
  for (int64_t d = 0; d < b.column_sizes.rank(); ++d) add(b.column_sizes[d], 0, b.column_strides[d]);
  if (b.column_sizes.empty()) add(problem.n, 0, b.column_stride);
  return fits ? types : std::nullopt;
}

// Returns the lanes per result: as many as there are threads for, if each adds at least two terms.
uint32_t DotLanes(int64_t results, int64_t terms) {
  uint32_t lanes = 1;
  while (lanes < kWarpSize && 2 * lanes * results <= StepsKernel::kThreads && 4 * lanes <= terms) lanes *= 2;
  return lanes;
}

}  // namespace

// The arguments of a launch, before their pointers are known.
struct StepsBuilder::Program {
  std::vector<std::byte> tasks;
  std::vector<Pointer> pointers;
  std::vector<Access> accesses;
  std::vector<Skip> skips;
  int64_t scratch_bytes;
  uint32_t threads;

  absl::Status Run(void* const* arguments, device::Stream stream) const;
  // `positions` is the maximal number of positions of a loop.
  absl::Status RunConcurrent(absl::Span<const uint32_t> loops, int64_t positions, void* const* arguments,
                             device::Stream stream) const;

 private:
  void SetTasks(void* const* arguments, StepsArgs& args) const;
};

StepTask& StepsBuilder::Begin(StepTask::Kind kind) {
  last_ = size();
  const StepTask task{.kind = kind};
  Append(&task, 1);
  return Last();
}

template <class T>
void StepsBuilder::Append(const T* values, int64_t count) {
  const auto* bytes = reinterpret_cast<const std::byte*>(values);
  tasks_.insert(tasks_.end(), bytes, bytes + count * static_cast<int64_t>(sizeof(T)));
}

bool StepsBuilder::End() {
  tasks_.resize(static_cast<size_t>(RoundUp(size(), alignof(StepTask))));
  Last().end = size();
  return size() <= StepsArgs::kBytes &&
         scratch_bytes_ + StepsArgs::kBytes <= static_cast<int64_t>(device_.shared_bytes_per_block);
}

bool StepsBuilder::AddLoop(const loops::LoopProgram& program) { return AddLoop(program, /*is_large=*/false); }
bool StepsBuilder::AddLargeLoop(const loops::LoopProgram& program) {
  return AddLoop(program, /*is_large=*/true);
}

bool StepsBuilder::AddLoop(const loops::LoopProgram& program, bool is_large) {
  const int64_t positions = program.outer_count() * program.inner_count(),
                passes = CeilDiv(positions, kPerPass);
  if (is_large ? loops_.size() == StepsArgs::kLoops : passes * kPassCycles > kLaunchCycles) return false;
  VmBuilder builder;
  if (!LowerSteps(program, builder).ok()) return false;
  builder.EndSection();
  const absl::StatusOr<VmTemplate> vm = builder.Finish(DimsOf(program));
  if (!vm.ok()) return false;
  const std::optional<Vm32Template> vm32 = LowerVm32(*vm);
  if (!vm32.has_value()) return false;
  const int64_t cycles = passes * (kPassCycles + kInstructionCycles * vm32->program.code_count);
  if (!is_large && cycles > kLaunchCycles) return false;
  Begin(StepTask::Kind::kLoop).count = vm32->program.position_count;
  loops_.push_back(last_);
  AppendLoop(*vm, *vm32, /*may_align=*/true);
  return EndLoop(SlotBytes(*vm32), positions, !is_large && jumps_.empty());
}

bool StepsBuilder::AddReduction(const loops::ReduceProgram& program) {
  const int64_t rows = program.kept_count(), length = program.reduced_count();
  const int64_t passes = CeilDiv(rows, kWarps) * CeilDiv(length, kPerWarp);
  if (passes * kPassCycles > kLaunchCycles) return false;
  const std::optional<Vm32ReduceBody> body = LowerReduceBody(program);
  if (!body.has_value() ||
      passes * (kPassCycles + kInstructionCycles * body->vm32.program.code_count) > kLaunchCycles)
    return false;
  Begin(StepTask::Kind::kReduce).count = static_cast<uint32_t>(rows);
  pointers_.push_back(
      {static_cast<uint32_t>(size() + offsetof(StepReduction, init)), program.results[0].init});
  pointers_.push_back(
      {static_cast<uint32_t>(size() + offsetof(StepReduction, output)), program.results[0].output});
  const StepReduction reduction{.length = static_cast<uint32_t>(length),
                                .fold = body->fold,
                                .init_memory = body->init_memory,
                                .output_memory = body->output_memory};
  Append(&reduction, 1);
  AppendLoop(body->vm, body->vm32, length % kVm32Width == 0);
  return EndLoop(SlotBytes(body->vm32), rows * kPerWarp, jumps_.empty());
}

bool StepsBuilder::AddDot(const loops::GemmProblem& problem, int32_t a, int32_t b, int32_t output) {
  const int64_t count = problem.m * problem.n * Product(problem.batch_dims);
  if (count == 0 || count > kMaxDotResults) return false;
  std::optional<StepDot> dot = LayOut(problem);
  if (!dot.has_value()) return false;
  dot->lanes = DotLanes(count, problem.k);
  const int64_t passes = CeilDiv(count * dot->lanes, int64_t{StepsKernel::kThreads});
  if (passes * (kPassCycles + kTermCycles * CeilDiv(problem.k, int64_t{dot->lanes})) > kLaunchCycles)
    return false;
  Begin(StepTask::Kind::kDot).count = static_cast<uint32_t>(count);
  pointers_.push_back({static_cast<uint32_t>(size() + offsetof(StepDot, a)), a});
  pointers_.push_back({static_cast<uint32_t>(size() + offsetof(StepDot, b)), b});
  pointers_.push_back({static_cast<uint32_t>(size() + offsetof(StepDot, output)), output});
  Append(&*dot, 1);
  return EndLoop(0, count * dot->lanes * kVm32Width, jumps_.empty());
}

bool StepsBuilder::EndLoop(int64_t scratch_bytes, int64_t positions, bool runs_once) {
  scratch_bytes_ = std::max(scratch_bytes_, scratch_bytes);
  positions_ = std::max(positions_, runs_once ? positions / kMorePasses : positions);
  ++launch_count_;
  ++loop_count_;
  return End();
}

void StepsBuilder::AppendLoop(const VmTemplate& vm, const Vm32Template& vm32, bool may_align) {
  const Vm32Program& program = vm32.program;
  StepTask& task = Last();
  task.rank = static_cast<uint8_t>(program.rank);
  task.accesses = static_cast<uint16_t>(vm.program.access_count);
  task.starts = static_cast<uint16_t>(vm.program.start_count);
  task.strides = static_cast<uint16_t>(vm32.stride_count);
  task.code = static_cast<uint16_t>(program.code_count);
  task.constants = static_cast<uint16_t>(vm32.constant_count);
  task.others = static_cast<uint16_t>(vm32.other_count);
  const StepTask counts = task;  // Appending moves the task.
  const auto accesses = size();
  Append(program.accesses, counts.accesses);
  const auto starts = size();
  Append(program.starts, counts.starts);
  const auto strides = size();
  Append(program.strides, counts.strides);
  Append(program.code, counts.code);
  Append(program.dims, counts.rank);
  Append(program.constants, counts.constants);
  Append(program.others, counts.others);
  for (uint32_t a = 0; a < counts.accesses; ++a) {
    const auto stride_bytes = static_cast<uint32_t>(sizeof(int64_t) * program.accesses[a].strides);
    accesses_.push_back({static_cast<uint32_t>(accesses + a * sizeof(Vm32Access)), strides + stride_bytes,
                         vm.access_arguments[a], program.rank, may_align});
  }
  const std::vector<Vm32StartPointer> start_pointers = Vm32StartPointers(vm);
  for (size_t s = 0; s < start_pointers.size(); ++s) {
    pointers_.push_back({static_cast<uint32_t>(starts + s * sizeof(Vm32Start) + offsetof(Vm32Start, data)),
                         start_pointers[s].argument, start_pointers[s].byte_offset});
  }
}

void StepsBuilder::SkipIfSame(int32_t argument, int32_t other) { skips_.push_back({last_, argument, other}); }

bool StepsBuilder::AddMoves(absl::Span<const ArgumentMove> moves) {
  if (moves.empty()) return true;
  if (moves.size() > MovesArgs::kMaxMoves) return false;
  Begin(moves.size() == 1 ? StepTask::Kind::kMove : StepTask::Kind::kMoves).count =
      static_cast<uint32_t>(moves.size());
  int64_t staged = 0;
  for (const ArgumentMove& move : moves) {
    const uint32_t at = size();
    pointers_.push_back({static_cast<uint32_t>(at + offsetof(MovesArgs::OneMove, to)), move.to});
    pointers_.push_back({static_cast<uint32_t>(at + offsetof(MovesArgs::OneMove, from)), move.from});
    const MovesArgs::OneMove entry{.byte_count = static_cast<uint32_t>(move.byte_count),
                                   .staged = static_cast<uint32_t>(staged)};
    Append(&entry, 1);
    staged += RoundUp(move.byte_count, 16);
    if (staged > kMaxMovedBytes) return false;
  }
  if (moves.size() > 1) scratch_bytes_ = std::max(scratch_bytes_, staged);
  ++launch_count_;
  return End();
}

StepsBuilder::Label StepsBuilder::NewLabel() {
  labels_.push_back(0);
  return labels_.size() - 1;
}

bool StepsBuilder::Jump(Label label) {
  Begin(StepTask::Kind::kJump);
  jumps_.push_back({static_cast<uint32_t>(last_ + offsetof(StepTask, target)), label});
  return End();
}

bool StepsBuilder::JumpIf(int32_t predicate, Label label) {
  Begin(StepTask::Kind::kJumpIf);
  pointers_.push_back({static_cast<uint32_t>(last_ + offsetof(StepTask, condition)), predicate});
  jumps_.push_back({static_cast<uint32_t>(last_ + offsetof(StepTask, target)), label});
  return End();
}

bool StepsBuilder::Select(int32_t choice, absl::Span<const Label> labels) {
  if (labels.size() > kMaxLabels) return false;
  Begin(StepTask::Kind::kSelect).count = static_cast<uint32_t>(labels.size());
  pointers_.push_back({static_cast<uint32_t>(last_ + offsetof(StepTask, condition)), choice});
  for (const Label label : labels) {
    jumps_.push_back({size(), label});
    const uint32_t target = 0;
    Append(&target, 1);
  }
  return End();
}

std::shared_ptr<const StepsBuilder::Program> StepsBuilder::TakeProgram(uint32_t threads) {
  for (const Jumped& jump : jumps_)
    std::memcpy(tasks_.data() + jump.at, &labels_[jump.label], sizeof(uint32_t));
  return std::make_shared<const Program>(Program{std::move(tasks_), std::move(pointers_),
                                                 std::move(accesses_), std::move(skips_), scratch_bytes_,
                                                 threads});
}

LoweredProgram StepsBuilder::Finish() {
  const auto threads = static_cast<uint32_t>(std::clamp<int64_t>(
      RoundUp(CeilDiv(positions_, kVm32Width), kWarpSize), kWarpSize, StepsKernel::kThreads));
  return LoweredProgram{
      fmt::format("steps: {} loops, {} threads", loop_count_, threads),
      [program = TakeProgram(threads)](void* const* arguments, void*, device::Stream stream) {
        return program->Run(arguments, stream);
      }};
}

LoweredProgram StepsBuilder::FinishConcurrent() {
  return LoweredProgram{fmt::format("{} concurrent loops", loops_.size()),
                        [program = TakeProgram(kConcurrentThreads), loops = loops_, positions = positions_](
                            void* const* arguments, void*, device::Stream stream) {
                          return program->RunConcurrent(loops, positions, arguments, stream);
                        }};
}

void StepsBuilder::Program::SetTasks(void* const* arguments, StepsArgs& args) const {
  std::copy(tasks.begin(), tasks.end(), args.tasks);
  args.end = static_cast<uint32_t>(tasks.size());
  args.byte_count = static_cast<uint32_t>(RoundUp(args.end, 16));
  const auto at = [&]<class T>(uint32_t offset, T*) { return reinterpret_cast<T*>(args.tasks + offset); };
  for (const Pointer& pointer : pointers) {
    const void* address = static_cast<const std::byte*>(arguments[pointer.argument]) + pointer.offset;
    std::memcpy(args.tasks + pointer.at, &address, sizeof address);
  }
  for (const Access& access : accesses) {
    auto& set = *at(access.at, static_cast<Vm32Access*>(nullptr));
    SetVm32Pointer(access.argument < 0 ? nullptr : arguments[access.argument],
                   at(access.strides, static_cast<int64_t*>(nullptr)), access.rank, set);
    set.vectors = set.vectors && access.may_align;
  }
  for (const Skip& skip : skips) {
    if (arguments[skip.argument] == arguments[skip.other])
      at(skip.task, static_cast<StepTask*>(nullptr))->count = 0;
  }
}

absl::Status StepsBuilder::Program::Run(void* const* arguments, device::Stream stream) const {
  StepsArgs args;
  SetTasks(arguments, args);
  return Launch<StepsKernel>({{1}, threads, args.byte_count + static_cast<size_t>(scratch_bytes)}, args,
                             stream);
}

absl::Status StepsBuilder::Program::RunConcurrent(absl::Span<const uint32_t> loops, int64_t positions,
                                                  void* const* arguments, device::Stream stream) const {
  StepsArgs args;
  SetTasks(arguments, args);
  args.is_concurrent = true;
  std::copy(loops.begin(), loops.end(), args.loops);
  args.loops[loops.size()] = static_cast<uint16_t>(args.end);
  const int64_t per_block = int64_t{threads} * kVm32Width;
  const auto blocks = static_cast<uint32_t>(std::min(CeilDiv(positions, per_block), kMaxBlocks));
  return Launch<StepsKernel>({{blocks, static_cast<uint32_t>(loops.size())},
                              threads,
                              args.byte_count + static_cast<size_t>(scratch_bytes)},
                             args, stream);
}

}  // namespace hlo::cuda
