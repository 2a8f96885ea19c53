#pragma once
// Measures the errors of an array.

#include <cstdint>

#include "absl/status/statusor.h"
#include "debug/shadow/extended.h"

namespace hlo::debug {

// The largest errors of the elements, in the ULP of reports.
struct ArrayError {
  double total = 0, inherited = 0, added = 0, bound = 0;
  int64_t worst = -1;  // The element with the largest total, and its bound.
  double bound_there = 0;
};

// Compares the declared elements with the wide ones, by modulus if they are complex. `local` has the wide
// results for the declared operands.
absl::StatusOr<ArrayError> MeasureArray(const ShadowValue& leaf, const ExtendedValue& local);

}  // namespace hlo::debug
