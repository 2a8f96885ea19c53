#pragma once
// The order in which windows are visited (semantics 5.3).

#include <cstdint>

#include "absl/types/span.h"
#include "hlo_run/attribute.h"

namespace hlo {

// The elements of a window whose index in this dimension is `first` or more; none if the dimension is -1.
struct PeeledElements {
  int64_t dimension = -1, first = 0;
};

// reduce-window and select-and-scatter visit the elements of a window in row-major order, with one exception:
// the last elements along one dimension may come after all others. XLA peels the last iteration of its loop.
PeeledElements FindPeeledElements(Window window, absl::Span<const int64_t> base_dims,
                                  absl::Span<const int64_t> result_dims);

}  // namespace hlo
