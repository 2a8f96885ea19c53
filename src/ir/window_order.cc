#include "ir/window_order.h"

#include <algorithm>

namespace hlo {
namespace {

// Returns true if the first `size` elements of each window along a dimension need no bounds checks of their
// own. Then XLA can show that they are inside the array, or that a window is either inside or outside it.
bool IsUnconstrained(const WindowDim& dim, int64_t size, int64_t base_size, int64_t result_size) {
  using Wide = __int128;
  if (size <= 1) return true;
  if (dim.base_dilation > 1 && dim.window_dilation % dim.base_dilation != 0) return false;
  if (result_size <= 1) return true;
  if (dim.padding_low > 0) return false;
  // Positions relative to the first element of the first window.
  const Wide last = Wide{base_size - 1} * dim.base_dilation + dim.padding_low,
             reach = Wide{size - 1} * dim.window_dilation;
  // The last window that begins inside the array.
  const Wide begin = std::min<Wide>(result_size - 1, last / dim.stride) * dim.stride;
  return last < 0 || begin + reach <= last;
}

}  // namespace

int64_t PeeledDimension(Window window, absl::Span<const int64_t> base_dims,
                        absl::Span<const int64_t> result_dims) {
  constexpr int64_t kMostElements = 64;  // XLA peels no loop around more iterations.
  int64_t elements = 1;
  for (size_t d = window.size(); d-- > 0 && elements < kMostElements;) {
    const WindowDim& dim = window[d];
    elements *= std::clamp<int64_t>(dim.size, 1, kMostElements);
    if (IsUnconstrained(dim, dim.size, base_dims[d], result_dims[d]) ||
        !IsUnconstrained(dim, dim.size - 1, base_dims[d], result_dims[d]))
      continue;
    // The order is the same if the dimension has the outermost loop.
    const bool is_outermost = std::all_of(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(d),
                                          [](const WindowDim& outer) { return outer.size == 1; });
    return is_outermost ? -1 : static_cast<int64_t>(d);
  }
  return -1;
}

}  // namespace hlo
