#include "kernels/cuda/combiner/custom_combiner_program.h"

#include <algorithm>
#include <utility>

#include "base/arithmetic.h"
#include "base/status.h"
#include "ir/result_shapes.h"
#include "kernels/cuda/launch/launch.h"

namespace hlo::cuda {
namespace {

using Value = VmBuilder::Value;
using Values = std::vector<Value>;

}  // namespace

loops::Access OperandAccess(const Instruction& instruction, int64_t k) {
  return {.argument = static_cast<int32_t>(k), .type = instruction.operand(k)->shape().type()};
}
loops::Access ResultAccess(const Instruction& instruction, int64_t k) {
  return {.argument = static_cast<int32_t>(instruction.operand_count() + k),
          .type = ResultShapes(instruction)[k].type()};
}
std::vector<void*> Arguments(absl::Span<const void* const> operands, absl::Span<void* const> results) {
  std::vector<void*> arguments;
  for (const void* operand : operands) arguments.push_back(const_cast<void*>(operand));
  arguments.insert(arguments.end(), results.begin(), results.end());
  return arguments;
}

absl::StatusOr<SharedCode> Finished(VmBuilder& builder, std::vector<int32_t> ends,
                                    const DeviceProperties& device) {
  auto code = std::make_shared<Code>();
  HLO_ASSIGN_OR_RETURN(code->made, builder.Finish({}));
  code->made.words = std::max(2, code->made.words);
  HLO_ASSIGN_OR_RETURN(code->shared_bytes, SharedBytesOf(code->made, 1, device));
  code->ends = std::move(ends);
  return code;
}
void EndSection(VmBuilder& builder, std::vector<int32_t>& ends) {
  builder.EndSection();
  ends.push_back(builder.code_count());
}

absl::StatusOr<SharedCode> CombinerCode(const std::vector<CombinedArrays>& arrays,
                                        const loops::ScalarFunction& combiner,
                                        const DeviceProperties& device) {
  const auto count = static_cast<int>(arrays.size());
  VmBuilder builder(2 * count);
  std::vector<int32_t> ends;
  for (int k = 0; k < count; ++k) {
    HLO_ASSIGN_OR_RETURN(const Value value, builder.Load(arrays[k].value));
    builder.CopyTo(builder.Pinned(count + k), value);
  }
  EndSection(builder, ends);
  Values inputs;
  for (int k = 0; k < 2 * count; ++k) inputs.push_back(builder.Pinned(k));
  HLO_ASSIGN_OR_RETURN(Values results, LowerCode(combiner, inputs, builder));
  for (Value& result : results) result = builder.Copy(result);
  for (int k = 0; k < count; ++k) builder.CopyTo(builder.Pinned(k), results[k]);
  EndSection(builder, ends);
  for (int k = 0; k < count; ++k) {
    HLO_ASSIGN_OR_RETURN(const Value init, builder.Load(arrays[k].init));
    builder.CopyTo(builder.Pinned(k), init);
  }
  EndSection(builder, ends);
  for (int k = 0; k < count; ++k) HLO_RETURN_IF_ERROR(builder.Store(builder.Pinned(k), arrays[k].result));
  builder.EndSection();
  return Finished(builder, std::move(ends), device);
}
CombinerArgs ArgsOf(const Code& code, CombinerTask task, absl::Span<void* const> arguments) {
  CombinerArgs args = {};
  args.program = code.made.program;
  SetPointers(code.made, arguments.data(), args.program);
  std::copy(code.ends.begin(), code.ends.end(), args.end);
  args.task = task;
  return args;
}

absl::Status LaunchCombiner(const Code& code, int64_t count, const CombinerArgs& args, Stream stream) {
  if (count == 0) return absl::OkStatus();
  const LaunchShape shape{{static_cast<uint32_t>(CeilDiv(count, kVmThreads))}, kVmThreads, code.shared_bytes};
  return code.made.words <= 2 ? Launch<CustomCombiner<2>>(shape, args, stream)
                              : Launch<CustomCombiner<4>>(shape, args, stream);
}

absl::StatusOr<SharedCode> ComparisonCode(const std::vector<loops::Access>& arrays,
                                          const loops::ScalarFunction& comparison,
                                          const DeviceProperties& device) {
  const auto count = static_cast<int>(arrays.size());
  VmBuilder builder(1 + 2 * count);
  std::vector<int32_t> ends;
  for (int side = 0; side < 2; ++side) {
    for (int k = 0; k < count; ++k) {
      HLO_ASSIGN_OR_RETURN(const Value element, builder.Load(arrays[k]));
      builder.CopyTo(builder.Pinned(1 + 2 * k + side), element);
    }
    EndSection(builder, ends);
  }
  Values inputs;
  for (int k = 0; k < 2 * count; ++k) inputs.push_back(builder.Pinned(1 + k));
  HLO_ASSIGN_OR_RETURN(const Values holds, LowerCode(comparison, inputs, builder));
  builder.CopyTo(builder.Pinned(0), holds[0]);
  builder.EndSection();
  return Finished(builder, std::move(ends), device);
}

}  // namespace hlo::cuda
