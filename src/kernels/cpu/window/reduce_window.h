#pragma once
// reduce-window on dense arrays.

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

// acc = init, then acc = combiner(acc, x) for the elements under the window, row-major. The windows' reach is
// within 2^60.
void ReduceWindow(absl::Span<const WindowArray> arrays, absl::Span<const int64_t> base_dims, Window window,
                  absl::Span<const int64_t> result_dims, const TileCode& combiner);

// How windows slide over arrays of a type.
struct Slide {
  TileCall combine;  // Of two tiles.
  int64_t width;     // Bytes of its lane.
  LineLoops lines;   // Of neighbours, where there are some.
};
// By an operation that may be grouped at will.
std::optional<Slide> FindSlide(Opcode opcode, ElementType type);
// One array and an operation that may be grouped at will, dimension by dimension, in time that does not
// depend on the window's size. Whether that is faster; `is_exact`: the order of operations changes nothing.
bool SlidesWindow(absl::Span<const int64_t> base_dims, Window window, absl::Span<const int64_t> result_dims,
                  bool is_exact);
void SlideWindow(const WindowArray& array, absl::Span<const int64_t> base_dims, Window window,
                 absl::Span<const int64_t> result_dims, const Slide& slide);

}  // namespace hlo::cpu
