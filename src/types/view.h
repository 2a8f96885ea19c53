#pragma once
// Strided views of buffers. Data movement is copying from one view to another. Elements are copied as bytes,
// so NaNs keep their payload.

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "types/index.h"

namespace hlo {

// Element i is stored at offset + sum over d of i[d] * strides[d], in elements. A stride may be 0 or
// negative.
struct View {
  Index dims;
  Index strides;
  int64_t offset = 0;

  // Returns the view of a dense row-major array.
  static View Dense(absl::Span<const int64_t> dims) { return {dims, RowMajorStrides(dims)}; }

  // Returns a view whose dimension k is dimension permutation[k] of this one.
  View Permuted(absl::Span<const int64_t> permutation) const {
    return {Pick(dims, permutation), Pick(strides, permutation), offset};
  }
  // Returns the view of `sizes` elements per dimension, from `start` with steps `steps`.
  View Window(const Index& start, const Index& sizes, const Index& steps) const {
    return {sizes, strides * steps, offset + Offset(start, strides)};
  }
  View Window(const Index& start, const Index& sizes) const {
    return {sizes, strides, offset + Offset(start, strides)};
  }
};

// Assigns target[i] = source[i] for every i. Both views have equal dims; elements have `width` bytes (1, 2,
// 4, 8 or 16).
void CopyElements(int64_t width, const std::byte* source, const View& from, std::byte* target,
                  const View& to);

// Assigns the element at `value` to every target[i].
void FillElements(int64_t width, const std::byte* value, std::byte* target, const View& to);

}  // namespace hlo
