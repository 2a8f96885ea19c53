#include "kernels/cuda/gather_scatter/scatter_plan.h"

#include <algorithm>
#include <bit>

#include "base/arithmetic.h"
#include "base/status.h"
#include "device/align.h"
#include "ir/window_indexing.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/memory/walks.h"
#include "kernels/cuda/sort/radix_sort.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

int64_t CountOf(absl::Span<const PlainDim> dims) {
  int64_t count = 1;
  for (const PlainDim& dim : dims) count *= dim.size;
  return count;
}

enum class Granularity : uint8_t {
  kUpdates,   // Each element of the updates is a position, in order.
  kElements,  // The same, ordered window by window as in the reference.
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
  if (!outer.has_value() || !inner.has_value() || CountOf(positions) * CountOf(window) > INT32_MAX)
    return false;
  args.positions = *outer;
  args.window = *inner;
  args.position_count = static_cast<uint32_t>(CountOf(positions));
  args.window_count = static_cast<uint32_t>(CountOf(window));
  return true;
}

SortLines OneLine(const ScatterArgs& args) {
  SortLines lines;
  lines.count = 1;
  lines.length = args.position_count;
  return lines;
}
uint32_t TargetBits(const ScatterArgs& args) {
  return std::max(1u, static_cast<uint32_t>(std::bit_width(args.nowhere)));
}

}  // namespace

std::optional<ScatterPositions> PlanPositions(const Instruction& scatter) {
  const int64_t count = (scatter.operand_count() - 1) / 2;
  const Shape &operand = scatter.operand(0)->shape(), &indices = scatter.operand(count)->shape(),
              &updates = scatter.operand(count + 1)->shape();
  const WindowIndexing indexing{
      scatter.Get<attr::index_vector_dim>(),     scatter.Get<attr::scatter_dims_to_operand_dims>(),
      scatter.Get<attr::input_batching_dims>(),  scatter.Get<attr::scatter_indices_batching_dims>(),
      scatter.Get<attr::inserted_window_dims>(), scatter.Get<attr::update_window_dims>()};
  const Index windows = OtherDims(operand.rank(), indexing.left_out, indexing.operand_batching_dims);
  if (windows.size() != indexing.window_dims.size() || !HasUnambiguousIndices(scatter)) return std::nullopt;
  Index extents(static_cast<size_t>(operand.rank()), 1);
  for (size_t k = 0; k < windows.size(); ++k) extents[windows[k]] = updates.dim(indexing.window_dims[k]);
  const std::optional<IndexedArrays> arrays =
      IndexArrays(operand, indices, updates, indexing, extents, /*clamps=*/false);
  if (!arrays.has_value()) return std::nullopt;
  ScatterPositions positions;
  positions.args.starts = arrays->starts;
  positions.has_unique_targets = scatter.Get<attr::unique_indices>(false);
  // Windows cannot overlap partially if along each indexed dimension they span one element or the whole
  // dimension.
  const bool whole_windows =
      std::all_of(indexing.start_index_map.begin(), indexing.start_index_map.end(),
                  [&](int64_t d) { return extents[d] == 1 || extents[d] == operand.dim(d); });
  const Granularity granularity = positions.has_unique_targets ? Granularity::kUpdates
                                  : whole_windows              ? Granularity::kWindows
                                                               : Granularity::kElements;
  if (!SetWalks(*arrays, granularity, positions.args)) return std::nullopt;
  const int64_t elements = *operand.ElementCount();
  positions.sortable = elements <= int64_t{UINT32_MAX} - 1;
  positions.args.nowhere = static_cast<uint32_t>(std::min<int64_t>(elements, UINT32_MAX));
  return positions;
}

LaunchShape EachPosition(int64_t count) {
  return {{static_cast<uint32_t>(CeilDiv(count, kScatterThreads))}, kScatterThreads};
}

int64_t SortedPositionsBytes(const ScatterArgs& args) {
  return 4 * device::Aligned(int64_t{4} * args.position_count) +
         RadixSortBytes(OneLine(args), TargetBits(args));
}

absl::Status SortPositions(ScatterArgs& args, void* workspace, device::Stream stream) {
  const int64_t n = args.position_count, bytes = device::Aligned(4 * n);
  auto* memory = static_cast<std::byte*>(workspace);
  const auto words = [&](int64_t i) { return reinterpret_cast<uint32_t*>(memory + i * bytes); };
  args.keys = words(0);
  HLO_RETURN_IF_ERROR(Launch<ScatterTargets>(EachPosition(n), args, stream));
  RadixSortArrays<uint32_t> arrays;
  arrays.lines = OneLine(args);
  arrays.bits = TargetBits(args);
  // The first pass must not write its input.
  const int64_t sorted = RadixPasses(arrays.bits) % 2;
  arrays.keys_in = words(0);
  arrays.keys_out[0] = words(sorted);
  arrays.keys_out[1] = words(1 - sorted);
  arrays.values_out[0] = words(2);
  arrays.values_out[1] = words(3);
  HLO_RETURN_IF_ERROR(RadixSort(arrays, words(4), stream));
  args.keys = words(sorted);
  args.order = words(2);
  return absl::OkStatus();
}

}  // namespace hlo::cuda
