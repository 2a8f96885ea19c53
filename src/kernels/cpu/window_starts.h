#pragma once
// Where do the windows of gather and scatter begin?

#include <cstdint>

#include "kernels/cpu/dense_array.h"
#include "types/index.h"

namespace hlo::cpu {

struct StartDims {
  int64_t index_vector_dim;
  // Which dimension of the operand each entry of an index vector belongs to.
  absl::Span<const int64_t> start_index_map;
  absl::Span<const int64_t> operand_batching_dims, indices_batching_dims;
};

class WindowStarts {
 public:
  // Starts are places in an array of `operand_dims`, clamped to [0, last_start] or missing beyond.
  WindowStarts(const DenseArray& indices, const StartDims& dims, absl::Span<const int64_t> operand_dims,
               Index last_start, bool clamps);

  // One for each position over the dimensions of the indices but index_vector_dim.
  const Index& dims() const { return dims_; }
  int64_t count() const { return Product(dims_); }
  // Of positions [begin, begin + n), row-major; -1: outside.
  void Compute(int64_t begin, int64_t n, int64_t* starts) const;

 private:
  template <class T>
  void ComputeAs(int64_t begin, int64_t n, int64_t* starts) const;
  bool Add(int64_t value, int64_t operand_dim, int64_t* start) const;

  DenseArray indices_;
  StartDims start_dims_;
  Index dims_, strides_, operand_strides_, last_start_;
  int64_t vector_stride_;
  bool clamps_;
};

// Counts through indices, the last dimension fastest, with the place that strides give to each.
class Odometer {
 public:
  Odometer(const Index& dims, const Index& strides, int64_t number);
  int64_t place() const { return place_; }
  const Index& digits() const { return digits_; }
  void Next();

 private:
  const Index &dims_, &strides_;
  Index digits_;
  int64_t place_ = 0;
};

}  // namespace hlo::cpu
