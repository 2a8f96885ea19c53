#pragma once
// This file runs loops and reductions over the same rows block by block, so that intermediate and shared
// values stay in the cache.

#include <cstdint>
#include <variant>
#include <vector>

#include "kernels/cpu/loops/reduce_program.h"

namespace hlo::cpu {

struct RowProgram {
  // Each part computes its share of a row from the same row of earlier parts. A loop has the rows as outer
  // dimensions, or no outer dimensions and the same number of positions per row. Reductions require
  // TakesRows().
  std::vector<std::variant<TileProgram, ReduceProgram>> parts;
  int64_t rows = 0, block = 1;  // The number of rows, and of rows per block.
  // Arguments from argument_count on are intermediate values, stored one block of rows at a time; kept_bytes
  // is their size per row.
  int32_t argument_count = 0;
  std::vector<int64_t> kept_bytes;

  // Computes the same bits as running the parts one after the other.
  void Run(void* const* arguments) const;

 private:
  double nanoseconds() const;
};

}  // namespace hlo::cpu
