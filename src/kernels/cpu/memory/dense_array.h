#pragma once
// An operand of a kernel: the elements of an array, dense and row-major.

#include "absl/types/span.h"
#include "hlo_run/element_type.h"

namespace hlo::cpu {

struct DenseArray {
  const void* data;
  ElementType type;
  absl::Span<const int64_t> dims;
};

}  // namespace hlo::cpu
