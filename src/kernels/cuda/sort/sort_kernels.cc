// Registers the kernels of sort and topk.

#include "kernels/cuda/sort/sort_kernels.h"

#include <utility>

#include "fmt/format.h"
#include "kernels/cuda/sort/block_radix_sort.h"
#include "kernels/cuda/sort/sort_plan.h"

namespace hlo::cuda {
namespace {

uint32_t KeyBitsOf(const SortPlan& plan) {
  uint32_t bits = 0;
  for (const KeySource& source : plan.sources) bits += source.bits;
  return bits;
}

std::string NameOf(const char* what, const SortPlan& plan) {
  const char* method = plan.method == SortMethod::kNetwork    ? "by networks"
                       : plan.method == SortMethod::kInBlocks ? "in blocks"
                                                              : "in sweeps";
  return fmt::format("{} {}, keys of {} bits", what, method, KeyBitsOf(plan));
}

CudaKernel KernelOf(const char* what, SortPlan plan, const DeviceProperties& device) {
  if (plan.method == SortMethod::kInBlocks &&
      BlockSortSharedBytes(plan.lines.length, KeyBitsOf(plan)) > device.shared_bytes_per_block)
    plan.method = SortMethod::kSweeps;
  CudaKernel kernel;
  kernel.name = NameOf(what, plan);
  kernel.workspace_bytes = plan.workspace_bytes();
  kernel.run = [plan = std::move(plan)](absl::Span<const void* const> operands,
                                        absl::Span<void* const> results, void* workspace,
                                        Stream stream) -> absl::Status {
    return EnqueueSort(plan, operands, results, workspace, stream);
  };
  return kernel;
}

}  // namespace

std::optional<CudaKernel> FindSortKernel(const Instruction& sort, const DeviceProperties& device) {
  const std::optional<std::vector<SortKey>> keys = MatchSortKeys(sort);
  if (!keys.has_value()) return std::nullopt;
  std::vector<ElementType> types;
  for (const Instruction* operand : sort.operands()) types.push_back(operand->shape().type());
  std::optional<SortPlan> plan =
      PlanSort(sort.operand(0)->shape().dims(), sort.Get<attr::dimensions>()[0], *keys, types);
  if (!plan.has_value()) return std::nullopt;
  return KernelOf("sort", *std::move(plan), device);
}

std::optional<CudaKernel> FindTopkKernel(const Instruction& topk, const DeviceProperties& device) {
  const Shape& shape = topk.operand(0)->shape();
  if (shape.rank() == 0 || !HasSortKey(shape.type()) || !topk.shape().IsTuple() ||
      !topk.shape().element(1).IsArray(ElementType::kS32))
    return std::nullopt;
  const SortKey key{0, topk.Get<attr::largest>(true)};
  std::optional<SortPlan> plan =
      PlanTopk(shape.dims(), key, shape.type(), topk.shape().element(0).dim(shape.rank() - 1));
  if (!plan.has_value()) return std::nullopt;
  return KernelOf("topk", *std::move(plan), device);
}

}  // namespace hlo::cuda
