#pragma once
// reduce-window on dense arrays.

#include "hlo_run/attribute.h"
#include "kernels/cpu/reduce_program.h"

namespace hlo::cpu {

struct WindowArray {
  ElementType type;
  const void* base;
  const void* init;
  void* result;
};

// acc = init, then acc = combiner(acc, x) for the elements under the window, row-major. The windows' reach is
// within 2^60.
void ReduceWindow(absl::Span<const WindowArray> arrays, absl::Span<const int64_t> base_dims, Window window,
                  absl::Span<const int64_t> result_dims, const TileCode& combiner);

// One array and a combiner that may be grouped at will, dimension by dimension, in time that does not depend
// on the window's size.
bool SlidesWindow(absl::Span<const int64_t> base_dims, Window window, absl::Span<const int64_t> result_dims);
void SlideWindow(const WindowArray& array, absl::Span<const int64_t> base_dims, Window window,
                 absl::Span<const int64_t> result_dims, const TileCode& combiner);

}  // namespace hlo::cpu
