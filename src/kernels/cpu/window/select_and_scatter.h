#pragma once
// This file implements select-and-scatter on dense arrays.

#include "hlo_run/attribute.h"
#include "kernels/cpu/loops/reduce_program.h"

namespace hlo::cpu {

struct SelectAndScatterArrays {
  ElementType type;
  const void *operand, *source, *init;
  void* result;
};

// The combiner of values in their compute type.
struct ScatterCode {
  TileCode code;
  bool is_sum = false;  // The code is one addition, without rounding to another type.
};

// Combines each source element with the selected element of its window by `scatter`. A later element is
// selected if `select` of the current and the later one is false. Types without an order are not supported.
void SelectAndScatter(const SelectAndScatterArrays& arrays, absl::Span<const int64_t> operand_dims,
                      Window window, absl::Span<const int64_t> source_dims, ComparisonDirection select,
                      const ScatterCode& scatter);

}  // namespace hlo::cpu
