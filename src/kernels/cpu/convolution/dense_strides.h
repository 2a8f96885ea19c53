#pragma once
// This file changes the strides of a convolution to those of dense copies in other orders of dimensions.

#include <utility>

#include "absl/algorithm/container.h"
#include "kernels/cpu/elementwise/copy_array.h"

namespace hlo::cpu {

// A dimension of an array, and the layout's stride of it.
struct StridedDim {
  int64_t size;
  int64_t* stride;
};
using StridedDims = absl::InlinedVector<StridedDim, 6>;

// Makes the strides those of a dense array; the first dimension becomes the fastest. Returns the copy to it.
inline CopyDims MakeDense(const StridedDims& dims) {
  CopyDims copy;
  int64_t count = 1;
  for (const StridedDim& dim : dims) {
    copy.push_back({dim.size, *dim.stride, count});
    *dim.stride = count;
    count *= dim.size;
  }
  return copy;
}

// Returns true if the copy leaves all elements at their places.
inline bool KeepsOrder(const CopyDims& dims) {
  return absl::c_all_of(dims,
                        [](const CopyDim& dim) { return dim.size == 1 || dim.from_stride == dim.to_stride; });
}

// Returns the copy in the other direction.
inline CopyDims Reversed(CopyDims dims) {
  for (CopyDim& dim : dims) std::swap(dim.from_stride, dim.to_stride);
  return dims;
}

}  // namespace hlo::cpu
