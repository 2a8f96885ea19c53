#include "ir/window_order.h"

#include <algorithm>

namespace hlo {
namespace {

using Wide = __int128;

struct Extent {
  int64_t base, result;
};

// Returns the distance of window elements that can be elements of the array rather than holes, or 0 if XLA
// cannot derive it. XLA steps over the other elements.
int64_t HitDistance(const WindowDim& dim) {
  if (dim.base_dilation == 1 || dim.window_dilation % dim.base_dilation == 0) return 1;
  const bool is_aligned = dim.stride % dim.base_dilation == 0 && dim.padding_low % dim.base_dilation == 0;
  return is_aligned && dim.base_dilation % dim.window_dilation == 0 ? dim.base_dilation / dim.window_dilation
                                                                    : 0;
}

// Returns true if the elements of each window along a dimension up to index `last` need no bounds checks of
// their own. Then XLA can show that they are inside the array, or that a window is either inside or outside
// it.
bool IsUnconstrained(const WindowDim& dim, int64_t last, Extent extent) {
  if (last <= 0 || extent.result <= 1) return true;
  if (dim.padding_low > 0) return false;
  // Positions relative to the first element of the first window.
  const Wide end = Wide{extent.base - 1} * dim.base_dilation + dim.padding_low,
             reach = Wide{last} * dim.window_dilation;
  // The last window that begins inside the array.
  const Wide begin = std::min<Wide>(extent.result - 1, end / dim.stride) * dim.stride;
  return end < 0 || begin + reach <= end;
}

// Returns the index of the last element of a single window without dilation that XLA peels, or 0. XLA knows
// which elements are not in the padding. If two of these are in the array, they are the first and the last.
int64_t PeeledOfOneWindow(const WindowDim& dim, Extent extent) {
  const int64_t low = dim.padding_low;
  if (extent.result != 1 || dim.window_dilation != 1 || low <= 0 || low % dim.base_dilation == 0) return 0;
  const Wide last = std::min<Wide>(dim.size - 1, low + Wide{extent.base - 1} * dim.base_dilation);
  return last == Wide{low} + dim.base_dilation ? low + dim.base_dilation : 0;
}

// Returns the index of the last element along a dimension if XLA peels it, or 0.
int64_t PeeledIndex(const WindowDim& dim, Extent extent) {
  if (dim.size <= 1) return 0;
  const int64_t distance = HitDistance(dim);
  if (distance == 0) return dim.size == 2 ? 1 : PeeledOfOneWindow(dim, extent);
  const int64_t last = (dim.size - 1) / distance * distance;
  if (last == 0 || IsUnconstrained(dim, dim.size - 1, extent)) return 0;
  return IsUnconstrained(dim, last - distance, extent) ? last : 0;
}

}  // namespace

PeeledElements FindPeeledElements(Window window, absl::Span<const int64_t> base_dims,
                                  absl::Span<const int64_t> result_dims) {
  constexpr int64_t kMostElements = 64;  // XLA peels no loop around more iterations.
  int64_t elements = 1;
  for (size_t d = window.size(); d-- > 0 && elements < kMostElements;) {
    const WindowDim& dim = window[d];
    const int64_t iterations = (dim.size - 1) / std::max<int64_t>(HitDistance(dim), 1) + 1;
    elements *= std::clamp<int64_t>(iterations, 1, kMostElements);
    const int64_t first = PeeledIndex(dim, {base_dims[d], result_dims[d]});
    if (first == 0) continue;
    // The order is the same if the dimension has the outermost loop.
    const bool is_outermost = std::all_of(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(d),
                                          [](const WindowDim& outer) { return outer.size == 1; });
    return is_outermost ? PeeledElements() : PeeledElements{static_cast<int64_t>(d), first};
  }
  return {};
}

}  // namespace hlo
