#pragma once
// This file defines an operand of a kernel: a dense row-major array.

#include "absl/types/span.h"
#include "hlo_run/element_type.h"

namespace hlo::cpu {

struct DenseArray {
  const void* data;
  ElementType type;
  absl::Span<const int64_t> dims;
};

}  // namespace hlo::cpu
