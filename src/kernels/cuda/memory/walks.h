#pragma once
// Builds the iteration spaces (Walk) of gather and scatter on the host.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "hlo_run/shape.h"
#include "kernels/cuda/memory/starts.h"

namespace hlo::cuda {

// A dimension of an iteration space, with strides.
struct PlainDim {
  int64_t size = 1, index = 0, operand = 0, update = 0;
};
// Drops dimensions of size 1 and collapses contiguous ones. Returns nullopt if too many dimensions or
// elements remain.
std::optional<Walk> MakeWalk(absl::Span<const PlainDim> dims);
// Returns the same dimensions collapsed.
std::vector<PlainDim> Joined(absl::Span<const PlainDim> dims);

// The common attributes of gather and scatter.
struct WindowIndexing {
  int64_t index_vector_dim;
  absl::Span<const int64_t> start_index_map, operand_batching_dims, indices_batching_dims;
  absl::Span<const int64_t> left_out;     // Operand dimensions that are not window dimensions.
  absl::Span<const int64_t> window_dims;  // Dimensions of the result or the updates.
};

// The dimensions of the result or the updates in order, with strides, and the start indices, bounded by [0,
// size - extent]. IndexArrays returns nullopt if the instruction is inconsistent or has too many index
// entries.
struct IndexedArrays {
  std::vector<PlainDim> dims;  // `update` is the array's own stride.
  std::vector<bool> is_window;
  StartsArgs starts;  // The pointer is unset.
};
std::optional<IndexedArrays> IndexArrays(const Shape& operand, const Shape& indices, const Shape& windowed,
                                         const WindowIndexing& indexing, absl::Span<const int64_t> extents,
                                         bool clamps);

}  // namespace hlo::cuda
