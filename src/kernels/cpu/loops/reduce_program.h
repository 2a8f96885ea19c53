#pragma once
// This file compiles reductions of the values that a loop program yields.

#include <cstdint>
#include <memory>

#include "kernels/cpu/loops/column_loop.h"
#include "kernels/cpu/loops/short_rows.h"
#include "kernels/cpu/loops/stored_reduction.h"
#include "kernels/cpu/loops/tile_code.h"
#include "kernels/cpu/loops/tile_program.h"
#include "loops/reduction.h"

namespace hlo::cpu {

using loops::Reassociation;

// A compiled reduction of the values that `body` yields.
struct ReduceProgram : loops::Reduction {
  explicit ReduceProgram(loops::ReduceProgram source);

  TileProgram body;
  TileCode combiner_code;
  TileCall fold_call;  // Reduces a tile of the single value to one element; null if there is no fold.
  std::shared_ptr<const ColumnLoop> column_loop;  // The same reduction of all columns, or null.
  std::shared_ptr<const ShortRows> short_rows;    // The same reduction of short rows, or null.
  std::shared_ptr<const StoredReduction> stored;  // The same reduction of a small array in memory, or null.

  int64_t kept_count() const { return KeptCount(body); }
  int64_t reduced_count() const { return ReducedCount(body); }
  double nanoseconds() const;
  // Lets runs compile the body and the combiner to native code once that is worthwhile.
  void AllowNativeCode();
  void Run(void* const* arguments) const;

  // Reduces rows [begin, end) on this thread, with the same bits as a whole run. Requires
  // SupportsRowRanges().
  void RunRows(void* const* arguments, int64_t begin, int64_t end) const;

 private:
  void RunShortRows(void* const* arguments, int64_t begin, int64_t end) const;
};

// Returns true if ranges of rows can be reduced separately.
bool SupportsRowRanges(const loops::ReduceProgram& program);

// Returns true if a chain of operations computes the only value that the program yields.
bool YieldsFromChain(const loops::LoopProgram& program);
// Returns true if such a chain can also reduce the value as it computes it.
bool ReducesInChain(const loops::ReduceProgram& program);

}  // namespace hlo::cpu
