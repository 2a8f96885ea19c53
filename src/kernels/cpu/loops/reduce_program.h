#pragma once
// This file compiles reductions of the values that a loop program yields.

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/cpu/loops/tile_program.h"
#include "loops/reduction.h"

namespace hlo::cpu {

using loops::Grouping;

// A compiled scalar function, which is applied elementwise to tiles of arguments. It has no loops.
class TileCode {
 public:
  TileCode() = default;
  explicit TileCode(const loops::ScalarFunction& function);
  int64_t step_count() const { return static_cast<int64_t>(steps_.size()); }

  // Computes out[k][0, n) from in[i][0, n); `out` may alias `in`.
  void Run(int64_t n, const void* const* in, void* const* out) const;

 private:
  struct Step {
    TileCall call;  // If null, the step is a constant.
    TileValue out;
    std::array<TileValue, 3> in;
    std::array<std::byte, 16> constant;
  };
  std::vector<Lane> lanes_;
  size_t inputs_ = 0;
  std::vector<Step> steps_;
  std::vector<TileValue> results_;
};

// A compiled reduction of the values that `body` yields.
struct ReduceProgram : loops::Reduction {
  explicit ReduceProgram(loops::ReduceProgram source);

  TileProgram body;
  TileCode combiner_code;
  TileCall fold_call;  // Reduces a tile of the single value to one element; null if there is no fold.

  int64_t kept_count() const { return KeptCount(body); }
  int64_t reduced_count() const { return ReducedCount(body); }
  double nanoseconds() const;
  void Run(void* const* arguments) const;

  // Reduces rows [begin, end) on this thread, with the same bits as a whole run. Requires
  // SupportsRowRanges().
  void RunRows(void* const* arguments, int64_t begin, int64_t end) const;
};

// Returns true if ranges of rows can be reduced separately.
bool SupportsRowRanges(const loops::ReduceProgram& program);

// Returns true if a chain of operations computes the only value that the program yields.
bool YieldsFromChain(const loops::LoopProgram& program);
// Returns true if such a chain can also reduce the value as it computes it.
bool ReducesInChain(const loops::ReduceProgram& program);

}  // namespace hlo::cpu
