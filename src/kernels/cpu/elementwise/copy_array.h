#pragma once
// This file copies between strided arrays: transposes, slices, broadcasts and concatenations.

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace hlo::cpu {

struct CopyDim {
  int64_t size, from_stride, to_stride;  // Strides are in elements.
};

using CopyDims = absl::InlinedVector<CopyDim, 6>;

// A copy that is prepared once: it sets to[sum of i * to_stride] = from[sum of i * from_stride] for all
// indices i. Elements have `width` bytes (1, 2, 4, 8 or 16).
class ArrayCopy {
 public:
  ArrayCopy(absl::Span<const CopyDim> dims, int64_t width);
  // The arrays do not overlap, or they are identical.
  void Run(const void* from, void* to) const;

 private:
  template <class T>
  void RunAs(const T* from, T* to) const;
  template <class T>
  void TransposeAs(const T* from, T* to) const;

  // The loop order: the inner dimension and, if it is a different one, the dimension with the smallest stride
  // in `from`.
  absl::InlinedVector<CopyDim, 6> outer_;
  CopyDim inner_{1, 1, 1}, across_{1, 0, 0};
  int64_t width_, rows_ = 1;  // The bytes of an element, the number of outer indices.
  bool transposes_ = false, is_empty_ = false;
};

// The last dimension is the innermost loop.
inline void CopyArray(absl::Span<const CopyDim> dims, int64_t width, const void* from, void* to) {
  ArrayCopy(dims, width).Run(from, to);
}

// Copies dimensions in any order, so that the result is stored from its beginning to its end.
void CopyInOrder(CopyDims dims, int64_t width, const void* from, void* to);

}  // namespace hlo::cpu
