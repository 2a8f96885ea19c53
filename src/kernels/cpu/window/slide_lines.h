#pragma once
// This file slides windows along one dimension with prefix and suffix scans of blocks of the window's size
// (van Herk's algorithm). A window is a suffix of one block and a prefix of the next.

#include <algorithm>
#include <cstdint>

#include "hlo_run/attribute.h"
#include "kernels/cpu/elementwise/tile_ops.h"

namespace hlo::cpu {

// Arrays [outer, base_size, inner] and [outer, result_size, inner] in the compute type.
struct SlideArrays {
  int64_t outer, base_size, result_size, inner;
  const void* base;
  void* result;
  const void* init;  // The initial element of every result, or nullptr.
};
// The elements [First, Last] of a line under the window at output o. A negative First is clamped to 0.
struct SlidingWindow {
  SlidingWindow(const WindowDim& dim, int64_t base_size)
      : size(dim.size), stride(dim.stride), low(dim.padding_low), base_size(base_size) {}
  int64_t First(int64_t o) const { return o * stride - low; }
  int64_t Last(int64_t o) const { return std::min(First(o) + size, base_size) - 1; }

  int64_t size, stride, low, base_size;
};

// Loops for associative operations.
struct LineLoops {
  // Slides windows if `inner` is 1. The window is not dilated, and every window contains an element.
  void (*slide)(const WindowDim& dim, const SlideArrays& arrays) = nullptr;
  // Computes out[i] = carry op in[0] op ... op in[i], or backwards carry op in[length - 1] op ... op in[i].
  // The last result becomes the carry.
  void (*run)(int64_t length, bool backwards, const void* in, void* out, void* carry) = nullptr;
};
// Returns the loops of the operation, null pointers if it has none for the compute type.
LineLoops FindLineLoops(Opcode opcode, ComputeType compute_type);

}  // namespace hlo::cpu
