// Registers the scatter kernel.

#include "kernels/cuda/gather_scatter/scatter_kernel.h"

#include "base/arithmetic.h"
#include "base/status.h"
#include "device/copy.h"
#include "kernels/cuda/gather_scatter/scatter_plan.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/reduce/match_reduce_op.h"
#include "loops/compute_type.h"

namespace hlo::cuda {
namespace {

enum class ScatterMethod : uint8_t { kUnique, kFew, kSorted };

struct ScatterPlan {
  ScatterArgs args;
  ElementType type;  // Element type of the kernels.
  ScatterMethod method;
  int64_t operand_bytes = 0;
};

std::optional<ReduceOp> ReduceOpOf(const Instruction& scatter, ElementType* type) {
  const Computation& to_apply = *scatter.Get<attr::to_apply>();
  const Instruction* root = to_apply.root();
  if (root->opcode() == Opcode::kCopy) root = root->operand(0);
  if (root == to_apply.parameter(1)) {
    *type = loops::BytesOf(*type);
    return ReduceOp::kSecond;
  }
  return MatchReduceOp(to_apply, *type);
}

std::optional<ScatterPlan> PlanScatter(const Instruction& scatter) {
  const Shape &operand = scatter.operand(0)->shape(), &updates = scatter.operand(2)->shape();
  ScatterPlan plan;
  plan.type = operand.type();
  const std::optional<ReduceOp> fold = ReduceOpOf(scatter, &plan.type);
  if (!fold.has_value() || updates.type() != operand.type() || scatter.shape().type() != operand.type())
    return std::nullopt;
  const std::optional<ScatterPositions> positions = PlanPositions(scatter);
  if (!positions.has_value()) return std::nullopt;
  plan.args = positions->args;
  plan.args.fold = *fold;
  plan.args.kind = KindOf(operand.type());
  plan.operand_bytes = *DenseByteCount(operand);
  plan.method = positions->has_unique_targets               ? ScatterMethod::kUnique
                : plan.args.position_count <= kFewPositions ? ScatterMethod::kFew
                                                            : ScatterMethod::kSorted;
  if (plan.method == ScatterMethod::kSorted && !positions->sortable) return std::nullopt;
  return plan;
}

absl::Status RunSorted(const ScatterPlan& plan, ScatterArgs args, void* workspace, Stream stream) {
  HLO_RETURN_IF_ERROR(SortPositions(args, workspace, stream));
  return WithElement(plan.type, [&]<class E>() {
    return Launch<ScatterRuns<E>>(EachPosition(int64_t{args.position_count} * args.window_count), args,
                                  stream);
  });
}

absl::Status RunScatter(const ScatterPlan& plan, const ScatterArgs& args, void* workspace, Stream stream) {
  if (args.position_count == 0 || args.window_count == 0 || args.nowhere == 0) return absl::OkStatus();
  if (plan.method == ScatterMethod::kSorted) return RunSorted(plan, args, workspace, stream);
  return WithElement(plan.type, [&]<class E>() {
    if (plan.method == ScatterMethod::kUnique)
      return Launch<ScatterOnce<E>>(EachPosition(args.position_count), args, stream);
    const LaunchShape shape{{CeilDiv(args.window_count, kFewWindow)}, kScatterThreads, sizeof(FewPositions)};
    return Launch<ScatterFew<E>>(shape, args, stream);
  });
}

}  // namespace

std::optional<CudaKernel> FindScatterKernel(const Instruction& scatter, const DeviceProperties& /*device*/) {
  if (scatter.operand_count() != 3) return std::nullopt;
  const std::optional<ScatterPlan> plan = PlanScatter(scatter);
  if (!plan.has_value()) return std::nullopt;
  const bool sorted = plan->method == ScatterMethod::kSorted;
  CudaKernel kernel;
  kernel.name = sorted                                   ? "scatter by sorting"
                : plan->method == ScatterMethod::kUnique ? "scatter of unique targets"
                                                         : "scatter of few windows";
  kernel.workspace_bytes = sorted ? SortedPositionsBytes(plan->args) : 0;
  kernel.updated = 1;
  kernel.run = [plan = *plan](absl::Span<const void* const> operands, absl::Span<void* const> results,
                              void* workspace, Stream stream) -> absl::Status {
    ScatterArgs args = plan.args;
    args.starts.indices = operands[1];
    args.updates = operands[2];
    args.result = results[0];
    HLO_RETURN_IF_ERROR(device::CopyOnDevice(results[0], operands[0], plan.operand_bytes, stream));
    return RunScatter(plan, args, workspace, stream);
  };
  return kernel;
}

}  // namespace hlo::cuda
