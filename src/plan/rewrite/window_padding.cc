#include "plan/rewrite/window_padding.h"

#include <algorithm>

#include "base/arithmetic.h"

namespace hlo::plan {

using build::Op;

std::vector<PaddingDim> PaddingOf(Window windows, IntList dims, int64_t rank) {
  std::vector<PaddingDim> padding(static_cast<size_t>(rank));
  bool is_padded = false;
  for (size_t k = 0; k < windows.size(); ++k) {
    const WindowDim& w = windows[k];
    padding[dims[k]] = {w.padding_low, w.padding_high, w.base_dilation - 1};
    is_padded |= w.padding_low != 0 || w.padding_high != 0 || w.base_dilation > 1;
  }
  if (!is_padded) padding.clear();
  return padding;
}

bool IsPaddingSmall(Window windows, IntList dims, const Shape& base, int64_t result_count) {
  constexpr double kMaxRatio = 4;
  const auto count = static_cast<double>(*base.ElementCount());
  double padded = count;
  for (size_t k = 0; k < windows.size(); ++k) {
    const WindowDim& w = windows[k];
    const auto size = static_cast<double>(base.dim(dims[k]));
    padded *= static_cast<double>(w.base_dilation) +
              (static_cast<double>(w.padding_low) + static_cast<double>(w.padding_high)) / size;
  }
  return padded <= kMaxRatio * std::max(count, static_cast<double>(result_count));
}

Op MaskOfElement(build::Builder& builder, build::Dims sizes, int64_t dimension, const WindowDim& window,
                 int64_t size, int64_t offset) {
  const int64_t first = offset - window.padding_low, last = first + (sizes[dimension] - 1) * window.stride,
                end = (size - 1) * window.base_dilation;
  if (first >= 0 && last <= end && window.base_dilation == 1) return {};
  Op mask;
  const Op position = builder.Iota(Shape::Array(ElementType::kS32, sizes), dimension);
  const auto number = [&](int64_t value) { return build::FullLike(position, static_cast<double>(value)); };
  if (first < 0) mask = build::Ge(position, number(CeilDiv(-first, window.stride)));
  if (last > end)
    mask = BothMasks(mask, build::Lt(position, number(end < first ? 0 : (end - first) / window.stride + 1)));
  if (window.base_dilation > 1) {
    const Op element = position * number(window.stride) + number(first);
    mask = BothMasks(mask, build::Eq(element % number(window.base_dilation), number(0)));
  }
  return mask;
}

}  // namespace hlo::plan
