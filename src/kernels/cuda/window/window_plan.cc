#include "kernels/cuda/window/window_plan.h"

#include <algorithm>

#include "ir/window_order.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kMaxWindowElements = (int64_t{1} << 31) - 1, kFarthest = int64_t{1} << 30;

bool IsWithinReach(const WindowDim& dim, int64_t size, int64_t other_size) {
  const auto small = [](int64_t value) { return -kFarthest < value && value < kFarthest; };
  return small(dim.size) && small(dim.stride) && small(dim.padding_low) && small(dim.padding_high) &&
         small(dim.window_dilation) && small(dim.base_dilation) &&
         static_cast<__int128>(dim.size) * dim.window_dilation < kFarthest &&
         static_cast<__int128>(std::max(size, other_size)) * std::max(dim.base_dilation, dim.stride) <
             kFarthest;
}

FastDiv DivisorOf(int64_t value) { return FastDiv(static_cast<uint32_t>(value)); }

}  // namespace

std::vector<WindowDim> Clipped(Window window, absl::Span<const int64_t> base_dims,
                               absl::Span<const int64_t> result_dims) {
  std::vector<WindowDim> clipped(window.begin(), window.end());
  for (size_t d = 0; d < clipped.size(); ++d) {
    WindowDim& dim = clipped[d];
    if (base_dims[d] == 0 || result_dims[d] == 0) continue;
    using Wide = __int128;
    // Window elements beyond the end of the base in the first window are beyond it in every window; those
    // before its start in the last window are before it in every window.
    const Wide behind = Wide{base_dims[d] - 1} * dim.base_dilation + dim.padding_low;
    const Wide before = Wide{dim.padding_low} - Wide{result_dims[d] - 1} * dim.stride;
    if (behind >= 0)
      dim.size = static_cast<int64_t>(std::min<Wide>(dim.size, behind / dim.window_dilation + 1));
    const auto left_out = static_cast<int64_t>(
        std::clamp<Wide>(before / dim.window_dilation, 0, std::max<int64_t>(dim.size - 1, 0)));
    dim.size -= left_out;
    dim.padding_low -= left_out * dim.window_dilation;
  }
  return clipped;
}

template <class Geometry>
std::optional<Geometry> MakeGeometryOf(absl::Span<const int64_t> dims, absl::Span<const int64_t> other_dims,
                                       Window window) {
  Geometry geometry;
  const int64_t count = hlo::Product(dims);
  if (count > kMaxWindowElements || hlo::Product(other_dims) > kMaxWindowElements ||
      window.size() != dims.size() || dims.size() != other_dims.size())
    return std::nullopt;
  geometry.count = static_cast<uint32_t>(count);
  if (count == 0) return geometry;
  const Index strides = RowMajorStrides(dims), other_strides = RowMajorStrides(other_dims);
  for (size_t d = 0; d < dims.size();) {
    if (!HasNoWindow(window[d])) {
      if (geometry.slot_count == Geometry::kMaxSlots || window[d].reversed ||
          !IsWithinReach(window[d], dims[d], other_dims[d]))
        return std::nullopt;
      WindowSlot& slot = geometry.slots[geometry.slot_count++];
      slot.outer = DivisorOf(strides[d]);
      slot.size = DivisorOf(dims[d]);
      slot.other_size = static_cast<int32_t>(other_dims[d]);
      slot.other_stride = static_cast<int32_t>(other_strides[d]);
      slot.window = static_cast<int32_t>(window[d].size);
      slot.step = static_cast<int32_t>(window[d].stride);
      slot.padding = static_cast<int32_t>(window[d].padding_low);
      slot.dilation = static_cast<int32_t>(window[d].window_dilation);
      slot.holes = static_cast<int32_t>(window[d].base_dilation);
      ++d;
      continue;
    }
    int64_t size = 1;
    size_t end = d;
    while (end < dims.size() && HasNoWindow(window[end])) size *= dims[end++];
    if (size > 1) {
      geometry.runs[geometry.run_count++] = {DivisorOf(strides[end - 1]), DivisorOf(size),
                                             static_cast<int32_t>(other_strides[end - 1])};
    }
    d = end;
  }
  return geometry;
}

template std::optional<WindowGeometry> MakeGeometryOf<WindowGeometry>(absl::Span<const int64_t>,
                                                                      absl::Span<const int64_t>, Window);
template std::optional<WideGeometry> MakeGeometryOf<WideGeometry>(absl::Span<const int64_t>,
                                                                  absl::Span<const int64_t>, Window);

template <class Geometry>
std::optional<Geometry> MakeWindowsOf(absl::Span<const int64_t> result_dims,
                                      absl::Span<const int64_t> base_dims, Window window) {
  const std::vector<WindowDim> clipped = Clipped(window, base_dims, result_dims);
  std::optional<Geometry> geometry = MakeGeometryOf<Geometry>(result_dims, base_dims, clipped);
  if (!geometry.has_value() || geometry->count == 0) return geometry;
  const auto [peeled, first] = FindPeeledElements(window, base_dims, result_dims);
  if (peeled < 0 || HasNoWindow(clipped[peeled])) return geometry;
  const WindowDim &whole = window[peeled], &dim = clipped[peeled];
  geometry->peeled = static_cast<int32_t>(std::count_if(clipped.begin(), clipped.begin() + peeled,
                                                        [](const WindowDim& d) { return !HasNoWindow(d); }));
  const int64_t left_out = (whole.padding_low - dim.padding_low) / dim.window_dilation;
  geometry->peeled_from = static_cast<int32_t>(std::clamp<int64_t>(first - left_out, 0, kFarthest));
  return geometry;
}

template std::optional<WindowGeometry> MakeWindowsOf<WindowGeometry>(absl::Span<const int64_t>,
                                                                     absl::Span<const int64_t>, Window);
template std::optional<WideGeometry> MakeWindowsOf<WideGeometry>(absl::Span<const int64_t>,
                                                                 absl::Span<const int64_t>, Window);

int64_t MaxTaps(absl::Span<const int64_t> base_dims, Window window) {
  int64_t taps = 1;
  for (size_t d = 0; d < window.size(); ++d) {
    taps *= std::max<int64_t>(1, std::min(window[d].size, base_dims[d] * window[d].base_dilation));
    if (taps > kFarthest) return kFarthest;
  }
  return taps;
}

}  // namespace hlo::cuda
