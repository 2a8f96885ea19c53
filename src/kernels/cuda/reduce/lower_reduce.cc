#include "kernels/cuda/reduce/lower_reduce.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "base/arithmetic.h"
#include "base/status.h"
#include "fmt/format.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/reduce/lower_plain_reduce.h"
#include "kernels/cuda/reduce/lower_vm32_reduce.h"
#include "kernels/cuda/reduce/reduce_vm_body.h"

namespace hlo::cuda {
namespace {

using loops::ComputeType;
using loops::Reassociation;
using loops::ReduceProgram;
using Value = VmBuilder::Value;

// Sums of f32 and narrower floats accumulate in f64 and are rounded once.
bool SumsInF64(const ReduceProgram& program) {
  return program.reassociation == Reassociation::kAny && program.results.size() == 1 &&
         loops::ComputeTypeOf(program.results[0].init_type) == ComputeType::kF32 &&
         program.BinaryOperation() != nullptr && program.BinaryOperation()->opcode == Opcode::kAdd;
}

absl::Status LowerCombiner(const ReduceProgram& program, bool in_f64, VmBuilder& builder) {
  const auto count = static_cast<int>(program.results.size());
  std::vector<Value> values;
  for (int k = 0; k < 2 * count; ++k) values.push_back(builder.Pinned(k));
  if (in_f64) {
    const loops::Operation add = *loops::FindScalarOperation(Opcode::kAdd, ElementType::kF64);
    HLO_ASSIGN_OR_RETURN(const Value sum, builder.Apply(add, ComputeType::kF64, {values[0], values[1]}));
    builder.CopyTo(builder.Pinned(0), sum);
    return absl::OkStatus();
  }
  HLO_ASSIGN_OR_RETURN(std::vector<Value> results, LowerCode(program.combiner, values, builder));
  // A result may be an accumulator that another result overwrites.
  for (Value& result : results) {
    if (result < 2 * count) result = builder.Copy(result);
  }
  for (int k = 0; k < count; ++k) builder.CopyTo(builder.Pinned(k), results[k]);
  return absl::OkStatus();
}

// Returns an access that broadcasts a scalar over the whole iteration space.
loops::Access ScalarOf(int32_t argument, ElementType type, const ReduceProgram& program) {
  loops::Access access{.argument = argument, .type = type};
  access.outer.resize(program.body.outer_dims().size(), 0);
  access.inner.resize(program.body.inner_dims().size(), 0);
  return access;
}

// Maximum number of column chunks, which one thread combines sequentially.
constexpr int64_t kMaxJoined = 128;

// Chooses the threads per output and the chunks per output from the shape only.
void ChooseGroups(const ReduceProgram& program, ReduceVmArgs& args) {
  args.chunks = 1;
  args.chunk_length = std::max<int64_t>(args.reduced, 1);
  args.group = 1;
  args.in_order = program.reassociation != Reassociation::kAny;
  if (program.reassociation == Reassociation::kNone || args.reduced < 16) return;
  constexpr int64_t kChunk = 32 << 10, kMinElements = 64;
  if (args.rows) {
    // The outputs alone fill the device.
    if (args.kept >= (int64_t{1} << 17) && args.reduced < kMinElements) return;
    args.group = args.reduced >= 1024 ? kVmThreads : kWarpSize;
    if (args.kept < 1024 && args.reduced >= 2 * kChunk) args.chunk_length = kChunk;
  } else {
    // A warp processes adjacent outputs.
    const auto kept = static_cast<uint64_t>(std::max<int64_t>(args.kept, 1));
    args.group = kVmThreads / static_cast<uint32_t>(std::min<uint64_t>(std::bit_floor(kept), kWarpSize));
    const int64_t chunks = std::min({kMaxJoined, (int64_t{1} << 16) / static_cast<int64_t>(kept),
                                     args.reduced / (kMinElements * args.group)});
    if (chunks > 1) args.chunk_length = CeilDiv(args.reduced, chunks);
  }
  args.chunks = CeilDiv(args.reduced, args.chunk_length);
}

template <int kWords>
absl::Status LaunchReduce(const ReduceVmArgs& args, size_t shared_bytes, device::Stream stream) {
  const int64_t units = args.kept * args.chunks, per_block = kVmThreads / args.group;
  const auto blocks = static_cast<uint32_t>(CeilDiv(units, per_block));
  HLO_RETURN_IF_ERROR(Launch<ReduceVm<kWords>>({{blocks}, kVmThreads, shared_bytes}, args, stream));
  if (args.chunks == 1) return absl::OkStatus();
  const auto output_blocks = static_cast<uint32_t>(CeilDiv(args.kept, kVmThreads));
  ReduceVmArgs join = args;
  join.joins_chunks = true;
  return Launch<ReduceVm<kWords>>({{output_blocks}, kVmThreads, shared_bytes}, join, stream);
}

// Compiles the body, the combiner, the initial values and the stores, one after the other, and sets their
// ends.
absl::StatusOr<VmTemplate> CompileReduce(const ReduceProgram& program, bool in_f64, ReduceVmArgs& args) {
  const auto count = static_cast<int>(program.results.size());
  VmBuilder builder(2 * count);
  HLO_ASSIGN_OR_RETURN(const std::vector<Value> yields, LowerSteps(program.body, builder));
  for (int k = 0; k < count; ++k) {
    builder.CopyTo(builder.Pinned(count + k),
                   in_f64 ? builder.Convert(yields[k], VmType::kF32, VmType::kF64) : yields[k]);
  }
  builder.EndSection();
  args.body_end = builder.code_count();
  HLO_RETURN_IF_ERROR(LowerCombiner(program, in_f64, builder));
  builder.EndSection();
  args.combine_end = builder.code_count();
  for (int k = 0; k < count; ++k) {
    HLO_ASSIGN_OR_RETURN(
        Value init, builder.Load(ScalarOf(program.results[k].init, program.results[k].init_type, program)));
    if (in_f64) init = builder.Convert(init, VmType::kF32, VmType::kF64);
    builder.CopyTo(builder.Pinned(k), init);
  }
  builder.EndSection();
  args.init_end = builder.code_count();
  for (int k = 0; k < count; ++k) {
    const Value value =
        in_f64 ? builder.Convert(builder.Pinned(k), VmType::kF64, VmType::kF32) : builder.Pinned(k);
    HLO_RETURN_IF_ERROR(
        builder.Store(value, ScalarOf(program.results[k].output, program.results[k].output_type, program)));
  }
  builder.EndSection();
  HLO_ASSIGN_OR_RETURN(VmTemplate made, builder.Finish(DimsOf(program.body)));
  // Results are dense and indexed by the output number.
  for (int k = 0; k < count; ++k)
    made.program.accesses[made.program.access_count - count + k].is_dense = true;
  return made;
}

}  // namespace

absl::StatusOr<LoweredProgram> LowerReduce(const ReduceProgram& program,
                                           const device::DeviceProperties& device) {
  if (std::optional<LoweredProgram> fold = LowerPlainReduce(program); fold.has_value())
    return *std::move(fold);
  if (std::optional<LoweredProgram> vm32 = LowerVm32Reduce(program, device); vm32.has_value())
    return *std::move(vm32);
  const auto count = static_cast<int>(program.results.size());
  const bool in_f64 = SumsInF64(program);
  ReduceVmArgs args = {};
  HLO_ASSIGN_OR_RETURN(VmTemplate made, CompileReduce(program, in_f64, args));
  HLO_ASSIGN_OR_RETURN(const size_t shared_bytes, SharedBytesOf(made, 1, device));
  args.count = count;
  args.rows = program.rows;
  args.kept = program.kept_count();
  args.reduced = program.reduced_count();
  args.inner_count = program.body.inner_count();
  args.part_length = program.part_length;
  ChooseGroups(program, args);
  if (args.kept * args.chunks >= (int64_t{1} << 31))
    return absl::UnimplementedError("the reduction has too many results");
  args.program = made.program;
  const auto shared = std::make_shared<const std::pair<VmTemplate, ReduceVmArgs>>(std::move(made), args);
  const int words = shared->first.words;
  const int64_t workspace = args.chunks > 1 ? args.kept * args.chunks * count * 4 * words : 0;
  const std::string chunks = args.chunks > 1 ? fmt::format(", {} chunks", args.chunks) : "";
  return LoweredProgram{
      fmt::format("reduce {} threads{}{}", args.group, chunks, in_f64 ? ", sums in f64" : ""),
      [shared, shared_bytes](void* const* pointers, void* partials, device::Stream stream) {
        ReduceVmArgs run = shared->second;
        if (run.kept == 0) return absl::OkStatus();
        SetPointers(shared->first, pointers, run.program);
        run.partials = partials;
        switch (shared->first.words) {
          case 1:
            return LaunchReduce<1>(run, shared_bytes, stream);
          case 2:
            return LaunchReduce<2>(run, shared_bytes, stream);
          default:
            return LaunchReduce<4>(run, shared_bytes, stream);
        }
      },
      workspace};
}

}  // namespace hlo::cuda
