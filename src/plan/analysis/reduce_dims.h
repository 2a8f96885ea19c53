#pragma once
// This file has the dimensions of a reduction, which decide the order in which its elements are combined.

#include <cstdint>
#include <vector>

#include "hlo_run/shape.h"
#include "types/index.h"

namespace hlo::plan {

// The dimensions of a reduction's operands.
struct ReduceDims {
  std::vector<int64_t> kept, reduced;
  int64_t kept_count = 1;
  int64_t last = 0;            // The most minor dimension that is larger than 1.
  bool minor_reduced = false;  // It is reduced, so that reduced elements are contiguous.
  bool has_long_rows = false;  // Likewise, and a row is long enough for a loop of its own.

  // `order` are the operand's dimensions in the order of memory, major ones first.
  ReduceDims(const Shape& shape, IntList dimensions, const Index& order) {
    last = order.empty() ? -1 : order.front();
    for (const int64_t d : order) {
      const bool is_reduced = Contains(dimensions, d);
      (is_reduced ? reduced : kept).push_back(d);
      if (!is_reduced) kept_count *= shape.dim(d);
      if (shape.dim(d) != 1) last = d;
    }
    minor_reduced = last >= 0 && Contains(dimensions, last);
    has_long_rows = minor_reduced && (shape.dim(last) >= 32 || kept_count < 256);
  }

  // Returns true if a loop over the reduced elements of one result is the inner loop, if the combiner may be
  // reassociated. Sums in f32 are then rounded once.
  bool IsByRows() const { return has_long_rows || kept_count == 1; }
};

}  // namespace hlo::plan
