#pragma once
// This file implements reduce-window on dense arrays.

#include "hlo_run/attribute.h"
#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/window/slide_lines.h"

namespace hlo::cpu {

struct WindowArray {
  ElementType type;
  const void* base;
  const void* init;
  void* result;
};

// Computes acc = init, then acc = combiner(acc, x) for the elements under each window in row-major order. The
// windows' reach is at most 2^60.
void ReduceWindow(absl::Span<const WindowArray> arrays, absl::Span<const int64_t> base_dims, Window window,
                  absl::Span<const int64_t> result_dims, const TileCode& combiner);

// The functions of a sliding-window algorithm for a type.
struct Slide {
  TileCall combine;  // Combines two tiles.
  int64_t width;     // Bytes of an element in its compute type.
  LineLoops lines;   // Loops for contiguous elements.
};
// Returns the functions for an associative operation.
std::optional<Slide> FindSlide(Opcode opcode, ElementType type);
// IsSlidingFaster returns true if SlideWindow is faster than ReduceWindow. `is_exact` is true if the order of
// operations does not affect the result. SlideWindow processes one array with an associative operation,
// dimension by dimension, in time independent of the window's size.
bool IsSlidingFaster(absl::Span<const int64_t> base_dims, Window window,
                     absl::Span<const int64_t> result_dims, bool is_exact);
void SlideWindow(const WindowArray& array, absl::Span<const int64_t> base_dims, Window window,
                 absl::Span<const int64_t> result_dims, const Slide& slide);

}  // namespace hlo::cpu
