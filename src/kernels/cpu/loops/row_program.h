#pragma once
// Loops and reductions over the same rows, one block of rows after the other: what one hands to the next, and
// what several read, stays in the cache.

#include <cstdint>
#include <variant>
#include <vector>

#include "kernels/cpu/loops/reduce_program.h"

namespace hlo::cpu {

struct RowProgram {
  // Each computes its part of a row from the same row of what those before it computed. Loops have rows as
  // outer dimensions, or none of those and as many positions for every row; reductions take rows.
  std::vector<std::variant<TileProgram, ReduceProgram>> parts;
  int64_t rows = 0, block = 1;  // How many at a time.
  // Arguments from argument_count on are values of which a block of rows is kept while it is at work: their
  // bytes for a row.
  int32_t argument_count = 0;
  std::vector<int64_t> kept_bytes;

  // The bits are those of the parts run whole, one after the other.
  void Run(void* const* arguments) const;

 private:
  double nanoseconds() const;
};

}  // namespace hlo::cpu
