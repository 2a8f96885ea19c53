#pragma once
// Where do the windows of gather and scatter begin?

#include <cstdint>
#include <optional>

#include "kernels/cpu/memory/dense_array.h"
#include "kernels/cpu/memory/odometer.h"
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
  // Where all indices are s32 that lie side by side, and each is the start of its position unless it is
  // outside [0, limit): that limit.
  std::optional<int64_t> IndexLimit() const;
  // Of positions [begin, begin + n), row-major; -1: outside.
  void Compute(int64_t begin, int64_t n, int64_t* starts) const;

 private:
  // Those of a run along the last dimension, from the odometer's position on.
  template <class T>
  void ComputeRun(const Odometer& position, int64_t n, int64_t* starts) const;
  void AddBatches(const Odometer& position, int64_t n, int64_t* starts) const;

  DenseArray indices_;
  StartDims start_dims_;
  Index dims_, strides_, operand_strides_, last_start_;
  int64_t vector_stride_;
  bool clamps_;
};

}  // namespace hlo::cpu
