#pragma once
// This file implements gather and scatter on dense arrays.

#include "kernels/cpu/gather_scatter/scatter_loops.h"
#include "kernels/cpu/gather_scatter/window_starts.h"
#include "kernels/cpu/loops/reduce_program.h"

namespace hlo::cpu {

struct GatherDims {
  StartDims starts;
  absl::Span<const int64_t> offset_dims, collapsed_slice_dims, slice_sizes;
};
void Gather(const DenseArray& operand, const DenseArray& indices, const GatherDims& dims, void* result,
            absl::Span<const int64_t> result_dims);

// Sets element i of the result to element clamp(index i, 0, most) of the operand, for `count` elements of
// `width` bytes.
void GatherElementsOfLine(int64_t width, const void* operand, ElementType index_type, const void* indices,
                          int64_t count, int64_t most, void* result);

struct ScatterDims {
  StartDims starts;
  absl::Span<const int64_t> update_window_dims, inserted_window_dims;
};
struct ScatterArray {
  ElementType type;
  void* result;  // Holds the operand; updated in place.
  const void* update;
};
// Scatters updates into the results. `combiner` combines an element and an update; if it is nullptr, the
// update replaces the element. `elementwise` are equivalent loops over single elements, if there are any.
void Scatter(absl::Span<const ScatterArray> arrays, absl::Span<const int64_t> operand_dims,
             const DenseArray& indices, absl::Span<const int64_t> update_dims, const ScatterDims& dims,
             const TileCode* combiner, const ScatterLoops& elementwise);

}  // namespace hlo::cpu
