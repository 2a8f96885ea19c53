#pragma once
// Which elements of a buffer does an operation move, and in which order? A view names them by strides; data
// movement is copying from one view to another. Elements are copied as bytes, so NaNs keep their payload.

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "types/index.h"

namespace hlo {

// Element i lies at offset + sum over d of i[d] * strides[d], counted in elements. A stride may be 0 or
// negative.
struct View {
  Index dims;
  Index strides;
  int64_t offset = 0;

  // All elements of an array as it is stored: dense and row-major.
  static View Dense(absl::Span<const int64_t> dims) { return {dims, RowMajorStrides(dims)}; }

  // Dimension k of the result is dimension permutation[k] of this view.
  View Permuted(absl::Span<const int64_t> permutation) const {
    return {Pick(dims, permutation), Pick(strides, permutation), offset};
  }
  // `sizes` elements along each dimension, from `start` on, every `steps`-th.
  View Window(const Index& start, const Index& sizes, const Index& steps) const {
    return {sizes, strides * steps, offset + Offset(start, strides)};
  }
  View Window(const Index& start, const Index& sizes) const {
    return {sizes, strides, offset + Offset(start, strides)};
  }
};

// target[i] = source[i] for every i of both views, which have equal dims. Elements are `width` (1, 2, 4, 8 or
// 16) bytes.
void CopyElements(int64_t width, const std::byte* source, const View& from, std::byte* target,
                  const View& to);

// target[i] = the element at `value`.
void FillElements(int64_t width, const std::byte* value, std::byte* target, const View& to);

}  // namespace hlo
