#pragma once
// select-and-scatter on dense arrays.

#include "hlo_run/attribute.h"
#include "kernels/cpu/loops/reduce_program.h"

namespace hlo::cpu {

struct SelectAndScatterArrays {
  ElementType type;
  const void *operand, *source, *init;
  void* result;
};

// Under each window the element that no other one beats (the first, unless `select` of it and a later one
// does not hold) takes the source's element in, by `scatter`. Types that have no order do not come here.
void SelectAndScatter(const SelectAndScatterArrays& arrays, absl::Span<const int64_t> operand_dims,
                      Window window, absl::Span<const int64_t> source_dims, ComparisonDirection select,
                      const TileCode& scatter);

}  // namespace hlo::cpu
