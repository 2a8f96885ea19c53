#pragma once
// Windows that slide along one dimension, by way of running results over blocks of the window's size: a
// window is the end of one block and the beginning of the next.

#include <algorithm>
#include <cstdint>

#include "hlo_run/attribute.h"
#include "kernels/cpu/elementwise/tile_ops.h"

namespace hlo::cpu {

// Arrays [outer, base_size, inner] and [outer, result_size, inner] of a lane's elements.
struct SlideArrays {
  int64_t outer, base_size, result_size, inner;
  const void* base;
  void* result;
  const void* init;  // One element that every result begins with, or nullptr.
};
// Elements of a line under the window at output o: [First, Last]. A first one of less than 0 is 0.
struct SlidePlaces {
  SlidePlaces(const WindowDim& dim, int64_t base_size)
      : size(dim.size), stride(dim.stride), low(dim.padding_low), base_size(base_size) {}
  int64_t First(int64_t o) const { return o * stride - low; }
  int64_t Last(int64_t o) const { return std::min(First(o) + size, base_size) - 1; }

  int64_t size, stride, low, base_size;
};

// Of operations that may be grouped at will.
struct LineLoops {
  // Where `inner` is 1. The window is not dilated, and every place of it holds an element.
  void (*slide)(const WindowDim& dim, const SlideArrays& arrays) = nullptr;
  // out[i] = carry op in[0] op ... op in[i], or backwards carry op in[length - 1] op ... op in[i]; the last
  // one is the carry then.
  void (*run)(int64_t length, bool backwards, const void* in, void* out, void* carry) = nullptr;
};
// On lanes of 32 and 64 bits; nullptr for others.
LineLoops FindLineLoops(Opcode opcode, Lane lane);

}  // namespace hlo::cpu
