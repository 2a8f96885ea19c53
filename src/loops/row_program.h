#pragma once
// Loops and reductions over the same rows, which run block by block, so that intermediate and shared values
// stay in the cache.

#include <cstdint>
#include <variant>
#include <vector>

#include "loops/loop_program.h"
#include "loops/reduction.h"

namespace hlo::loops {

struct RowProgram {
  // Each part computes its share of a row from the same row of earlier parts. A loop has the rows as outer
  // dimensions, or no outer dimensions and the same number of positions per row. Reductions reduce rows.
  using Part = std::variant<LoopProgram, ReduceProgram>;
  std::vector<Part> parts;
  int64_t rows = 0, block = 1;  // The number of rows, and of rows per block.
  // Arguments from argument_count on are intermediate values, stored one block of rows at a time; kept_bytes
  // is their size per row.
  int32_t argument_count = 0;
  std::vector<int64_t> kept_bytes;

  // Returns the loop of a part: itself, or the one whose values it reduces.
  static const LoopProgram& BodyOf(const Part& part) {
    const auto* loop = std::get_if<LoopProgram>(&part);
    return loop != nullptr ? *loop : std::get<ReduceProgram>(part).body;
  }
};

}  // namespace hlo::loops
