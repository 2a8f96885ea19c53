#pragma once
// This file computes the window starts of gather and scatter.

#include <cstdint>
#include <optional>

#include "kernels/cpu/memory/dense_array.h"
#include "kernels/cpu/memory/odometer.h"
#include "types/index.h"

namespace hlo::cpu {

struct StartDims {
  int64_t index_vector_dim;
  // The dimension of the operand for each entry of an index vector.
  absl::Span<const int64_t> start_index_map;
  absl::Span<const int64_t> operand_batching_dims, indices_batching_dims;
};

class WindowStarts {
 public:
  // Starts are offsets in an array of `operand_dims`; indices are clamped to [0, last_start], or out-of-range
  // starts are -1.
  WindowStarts(const DenseArray& indices, const StartDims& dims, absl::Span<const int64_t> operand_dims,
               Index last_start, bool clamps);

  // There is one start per position of the indices' dimensions without index_vector_dim.
  const Index& dims() const { return dims_; }
  int64_t count() const { return Product(dims_); }
  // Returns the limit if all indices are contiguous s32 values that are the starts themselves, provided that
  // they are in [0, limit).
  std::optional<int64_t> IndexLimit() const;
  // Returns the limit of the index if each start is one index, which is in order in memory, and is clamped.
  std::optional<int64_t> ClampedIndexLimit() const;
  // Computes the starts of row-major positions [begin, begin + n); -1 is out of range.
  void Compute(int64_t begin, int64_t n, int64_t* starts) const;

 private:
  bool IsPlainIndex() const;
  // Computes a run of starts along the last dimension, from the odometer's position on.
  template <class T>
  void ComputeRun(const Odometer& position, int64_t n, int64_t* starts) const;
  // Returns the dimension of the starts that the k-th batching dimension iterates over.
  int64_t BatchDigit(size_t k) const;
  // Returns the offset of the batches that all starts of a run have in common, or -1 if it is out of range.
  int64_t CommonBatches(const Odometer& position) const;
  // Adds the offsets of batches that vary along a run.
  void AddBatchesOfRun(const Odometer& position, int64_t n, int64_t* starts) const;

  DenseArray indices_;
  StartDims start_dims_;
  Index dims_, strides_, operand_strides_, last_start_;
  Index walked_, walked_strides_;
  int64_t vector_stride_;
  bool clamps_;
};

}  // namespace hlo::cpu
