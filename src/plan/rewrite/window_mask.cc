#include "plan/rewrite/window_mask.h"

#include "base/arithmetic.h"

namespace hlo::plan {

using build::Op;

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
