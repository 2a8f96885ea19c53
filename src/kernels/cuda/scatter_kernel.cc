// scatter as a kernel of the registry.

#include <algorithm>
#include <bit>

#include "base/status.h"
#include "device/copy.h"
#include "kernels/cuda/find_fold.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/radix_sort.h"
#include "kernels/cuda/registry.h"
#include "kernels/cuda/scatter_body.h"
#include "kernels/cuda/walks.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

enum class Way : uint8_t { kOnce, kFew, kSorted };

struct ScatterPlan {
  ScatterArgs args;
  ElementType type;  // With the elements' kernels.
  Way way;
  int64_t operand_bytes = 0;
};

// An overwritten element is mere bytes.
ElementType BytesOf(ElementType type) {
  switch (ByteCount(type)) {
    case 1:
      return ElementType::kU8;
    case 2:
      return ElementType::kU16;
    case 4:
      return ElementType::kU32;
    case 8:
      return ElementType::kU64;
    default:
      return ElementType::kC128;
  }
}

std::optional<Fold> FoldOf(const Instruction& scatter, ElementType* type) {
  const Computation& to_apply = *scatter.Get<attr::to_apply>();
  const Instruction* root = to_apply.root();
  if (root->opcode() == Opcode::kCopy) root = root->operand(0);
  if (root == to_apply.parameter(1)) {
    *type = BytesOf(*type);
    return Fold::kSecond;
  }
  return FindFold(to_apply, *type);
}

int64_t PlacesOf(absl::Span<const PlainDim> dims) {
  int64_t places = 1;
  for (const PlainDim& dim : dims) places *= dim.size;
  return places;
}

enum class Granularity : uint8_t {
  kUpdates,   // Each element of the updates is a position, in their order.
  kElements,  // The same, with all of one window after all of another: the reference's order.
  kWindows,   // Positions with windows.
};
bool SetWalks(const IndexedArrays& arrays, Granularity granularity, ScatterArgs& args) {
  std::vector<PlainDim> positions, window;
  for (size_t d = 0; d < arrays.dims.size(); ++d) {
    const bool within = granularity != Granularity::kUpdates && arrays.is_window[d];
    (within ? window : positions).push_back(arrays.dims[d]);
  }
  if (granularity == Granularity::kElements) {
    positions.insert(positions.end(), window.begin(), window.end());
    window.clear();
  }
  const std::optional<Walk> outer = MakeWalk(positions), inner = MakeWalk(window);
  if (!outer.has_value() || !inner.has_value() || PlacesOf(positions) * PlacesOf(window) > INT32_MAX)
    return false;
  args.positions = *outer;
  args.window = *inner;
  args.position_count = static_cast<uint32_t>(PlacesOf(positions));
  args.window_count = static_cast<uint32_t>(PlacesOf(window));
  return true;
}

std::optional<ScatterPlan> PlanScatter(const Instruction& scatter) {
  const Shape &operand = scatter.operand(0)->shape(), &indices = scatter.operand(1)->shape(),
              &updates = scatter.operand(2)->shape();
  ScatterPlan plan;
  plan.type = operand.type();
  const std::optional<Fold> fold = FoldOf(scatter, &plan.type);
  if (!fold.has_value() || updates.type() != operand.type() || scatter.shape().type() != operand.type())
    return std::nullopt;
  const WindowIndexing indexing{
      scatter.Get<attr::index_vector_dim>(),     scatter.Get<attr::scatter_dims_to_operand_dims>(),
      scatter.Get<attr::input_batching_dims>(),  scatter.Get<attr::scatter_indices_batching_dims>(),
      scatter.Get<attr::inserted_window_dims>(), scatter.Get<attr::update_window_dims>()};
  const Index windows = OtherDims(operand.rank(), indexing.left_out, indexing.operand_batching_dims);
  if (windows.size() != indexing.window_dims.size()) return std::nullopt;
  Index extents(static_cast<size_t>(operand.rank()), 1);
  for (size_t k = 0; k < windows.size(); ++k) extents[windows[k]] = updates.dim(indexing.window_dims[k]);
  const std::optional<IndexedArrays> arrays =
      IndexArrays(operand, indices, updates, indexing, extents, false);
  if (!arrays.has_value()) return std::nullopt;
  plan.args.starts = arrays->starts;
  plan.args.fold = *fold;
  plan.args.kind = KindOf(operand.type());
  plan.operand_bytes = *DenseByteCount(operand);
  const bool once = scatter.Get<attr::unique_indices>(false);
  // Two windows cannot overlap in part where along each dimension with a start they are one element, or all.
  const bool whole_windows =
      std::all_of(indexing.start_index_map.begin(), indexing.start_index_map.end(),
                  [&](int64_t d) { return extents[d] == 1 || extents[d] == operand.dim(d); });
  const Granularity granularity = once            ? Granularity::kUpdates
                                  : whole_windows ? Granularity::kWindows
                                                  : Granularity::kElements;
  if (!SetWalks(*arrays, granularity, plan.args)) return std::nullopt;
  const int64_t elements = *operand.ElementCount();
  plan.way = once ? Way::kOnce : plan.args.position_count <= kFewPositions ? Way::kFew : Way::kSorted;
  if (plan.way == Way::kSorted && elements > int64_t{UINT32_MAX} - 1) return std::nullopt;
  plan.args.nowhere = static_cast<uint32_t>(elements);
  return plan;
}

LaunchShape EachOf(int64_t count) {
  return {{static_cast<uint32_t>((count + kScatterThreads - 1) / kScatterThreads)}, kScatterThreads};
}

int64_t Aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

absl::Status RunSorted(const ScatterPlan& plan, ScatterArgs args, void* workspace, Stream stream) {
  const int64_t n = args.position_count, bytes = Aligned(4 * n);
  auto* memory = static_cast<std::byte*>(workspace);
  const auto words = [&](int64_t i) { return reinterpret_cast<uint32_t*>(memory + i * bytes); };
  RadixBuffers<uint32_t> buffers{words(0), words(1), words(2), words(3), words(4)};
  args.keys = buffers.keys;
  HLO_RETURN_IF_ERROR(Launch<ScatterTargets>(EachOf(n), args, stream));
  HLO_RETURN_IF_ERROR(
      RadixSort(buffers, n, static_cast<uint32_t>(std::bit_width(args.nowhere)), true, stream));
  args.keys = buffers.keys;
  args.order = buffers.order;
  return WithElement(plan.type, [&]<class E>() {
    return Launch<ScatterRuns<E>>(EachOf(n * args.window_count), args, stream);
  });
}

absl::Status RunScatter(const ScatterPlan& plan, const ScatterArgs& args, void* workspace, Stream stream) {
  if (args.position_count == 0 || args.window_count == 0 || args.nowhere == 0) return absl::OkStatus();
  if (plan.way == Way::kSorted) return RunSorted(plan, args, workspace, stream);
  return WithElement(plan.type, [&]<class E>() {
    if (plan.way == Way::kOnce) return Launch<ScatterOnce<E>>(EachOf(args.position_count), args, stream);
    const LaunchShape shape{
        {(args.window_count + kFewWindow - 1) / kFewWindow}, kScatterThreads, sizeof(FewPositions)};
    return Launch<ScatterFew<E>>(shape, args, stream);
  });
}

}  // namespace

std::optional<CudaKernel> FindScatterKernel(const Instruction& scatter, const DeviceProperties& /*device*/) {
  if (scatter.operand_count() != 3) return std::nullopt;
  const std::optional<ScatterPlan> plan = PlanScatter(scatter);
  if (!plan.has_value()) return std::nullopt;
  const int64_t n = plan->args.position_count;
  const bool sorted = plan->way == Way::kSorted;
  CudaKernel kernel;
  kernel.name = sorted                    ? "scatter by sorting"
                : plan->way == Way::kOnce ? "scatter of unique targets"
                                          : "scatter of few windows";
  kernel.workspace_bytes = sorted ? 4 * Aligned(4 * n) + RadixCountsBytes(n) : 0;
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
