// Registers the kernels of sort and topk.

#include "kernels/cuda/sort/sort_kernels.h"

#include "base/status.h"
#include "fmt/format.h"
#include "kernels/cuda/sort/sort_plan.h"

namespace hlo::cuda {
namespace {

std::string NameOf(const char* what, const SortPlan& plan) {
  uint32_t bits = 0;
  for (const KeySource& source : plan.sources) bits += source.bits;
  return plan.in_blocks ? fmt::format("{} in blocks, keys of {} bits", what, bits)
                        : fmt::format("{} by digits, keys of {} bits", what, bits);
}

}  // namespace

std::optional<CudaKernel> FindSortKernel(const Instruction& sort, const DeviceProperties& /*device*/) {
  const std::optional<std::vector<SortKey>> keys = MatchSortKeys(sort);
  if (!keys.has_value()) return std::nullopt;
  std::vector<ElementType> types;
  for (const Instruction* operand : sort.operands()) types.push_back(operand->shape().type());
  const std::optional<SortPlan> plan =
      PlanSort(sort.operand(0)->shape().dims(), sort.Get<attr::dimensions>()[0], *keys, types);
  if (!plan.has_value()) return std::nullopt;
  std::vector<int64_t> widths;
  for (const ElementType type : types) widths.push_back(ByteCount(type));
  return CudaKernel{
      NameOf("sort", *plan), plan->workspace_bytes(),
      [plan = *plan, widths](absl::Span<const void* const> operands, absl::Span<void* const> results,
                             void* workspace, Stream stream) -> absl::Status {
        if (plan.count() == 0) return absl::OkStatus();
        HLO_ASSIGN_OR_RETURN(const uint32_t* order, EnqueueOrder(plan, operands, workspace, stream));
        return Permute(plan.lines, order, widths, operands, results, stream);
      }};
}

std::optional<CudaKernel> FindTopkKernel(const Instruction& topk, const DeviceProperties& /*device*/) {
  const Shape& shape = topk.operand(0)->shape();
  if (shape.rank() == 0 || !HasSortKey(shape.type()) || !topk.shape().IsTuple() ||
      !topk.shape().element(1).IsArray(ElementType::kS32))
    return std::nullopt;
  const int64_t length = shape.dim(shape.rank() - 1), kept = topk.shape().element(0).dim(shape.rank() - 1);
  const SortKey key{0, topk.Get<attr::largest>(true)};
  const std::optional<SortPlan> plan = PlanSort(shape.dims(), shape.rank() - 1, {&key, 1}, {shape.type()});
  if (!plan.has_value() || kept > length) return std::nullopt;
  return CudaKernel{
      NameOf("topk", *plan), plan->workspace_bytes(),
      [plan = *plan, kept, width = ByteCount(shape.type())](absl::Span<const void* const> operands,
                                                            absl::Span<void* const> results, void* workspace,
                                                            Stream stream) -> absl::Status {
        if (plan.count() == 0 || kept == 0) return absl::OkStatus();
        HLO_ASSIGN_OR_RETURN(const uint32_t* order, EnqueueOrder(plan, operands, workspace, stream));
        return TakeFirst(plan.lines, order, kept, width, operands[0], results, stream);
      }};
}

}  // namespace hlo::cuda
