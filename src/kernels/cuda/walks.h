#pragma once
// Walks of gather and scatter, made on the host.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "hlo_run/shape.h"
#include "kernels/cuda/starts.h"

namespace hlo::cuda {

// A dimension before it is fit for kernels.
struct PlainDim {
  int64_t size = 1, index = 0, operand = 0, update = 0;
};
// Without dimensions of size 1, and with neighbours joined where they are one; nullopt: too many are left, or
// too many places.
std::optional<Walk> MakeWalk(absl::Span<const PlainDim> dims);
// The same dimensions joined.
std::vector<PlainDim> Joined(absl::Span<const PlainDim> dims);

// The attributes that gather and scatter share, under one name.
struct WindowIndexing {
  int64_t index_vector_dim;
  absl::Span<const int64_t> start_index_map, operand_batching_dims, indices_batching_dims;
  absl::Span<const int64_t> left_out;     // Dimensions of the operand that windows do not have.
  absl::Span<const int64_t> window_dims;  // Of the result or the updates.
};

// Dimensions of the result or the updates in their order, with the strides of everything; starts, which lie
// within [0, size - extent]. nullopt: the instruction is not sound, or has too many entries.
struct IndexedArrays {
  std::vector<PlainDim> dims;  // `update` is the array's own stride.
  std::vector<bool> is_window;
  StartsArgs starts;  // Without the pointer.
};
std::optional<IndexedArrays> IndexArrays(const Shape& operand, const Shape& indices, const Shape& windowed,
                                         const WindowIndexing& indexing, absl::Span<const int64_t> extents,
                                         bool clamps);

}  // namespace hlo::cuda
