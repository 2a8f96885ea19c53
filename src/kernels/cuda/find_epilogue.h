#pragma once
// Which loops over the result of a product can be done to its elements on their way out?

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/tile_program.h"
#include "kernels/cuda/epilogue.h"

namespace hlo::cuda {

struct FoundEpilogue {
  Epilogue epilogue;
  std::vector<int32_t> arrays;  // The loop's arguments that are the epilogue's arrays.
  int32_t stored = -1;          // And the one that it writes.
};

// `product`: the argument that is the product's result, dense, of `count` elements of type `declared`. The
// loop takes each once, in order, through sums, differences, products, maxima, minima and conversions with
// elements at the same place, or of a vector along some dimensions. nullopt: it does something else.
std::optional<FoundEpilogue> FindEpilogue(const cpu::TileProgram& loop, int32_t product, ElementType declared,
                                          int64_t count);

}  // namespace hlo::cuda
