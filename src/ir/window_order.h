#pragma once
// The order in which windows are visited (semantics 5.3).

#include <cstdint>

#include "absl/types/span.h"
#include "hlo_run/attribute.h"

namespace hlo {

// reduce-window and select-and-scatter visit the elements of a window in row-major order, with one exception:
// the last elements along one dimension may come after all others. XLA peels the last iteration of its loop.
// Returns this dimension, or -1 if the order is row-major.
int64_t PeeledDimension(Window window, absl::Span<const int64_t> base_dims,
                        absl::Span<const int64_t> result_dims);

}  // namespace hlo
