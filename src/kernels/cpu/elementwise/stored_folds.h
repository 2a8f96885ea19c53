#pragma once
// Reductions of floats as they lie in memory. Several places are read side by side: the processor fetches
// ahead from each of them, and so more in all than from one.

#include <cstdint>

#include "kernels/cpu/elementwise/tile_ops.h"

namespace hlo::cpu {

struct StoredFolds {
  static constexpr int kAtOnce = 4;

  // results[r] = rows[r][0] op rows[r][1] op ... for kAtOnce rows of n > 0 elements, grouped at will; null
  // where one after the other is faster.
  void (*rows)(int64_t n, const void* const* rows, void* results) = nullptr;
  // The same bits of one of them.
  void (*row)(int64_t n, const void* row, void* result) = nullptr;
  // Of one long row.
  void (*long_row)(int64_t n, const void* row, void* result) = nullptr;
  // accumulators[i] = accumulators[i] op rows[0][i] op rows[1][i] op ..., in this order, for kAtOnce rows.
  void (*columns)(int64_t n, const void* const* rows, void* accumulators) = nullptr;
};
// Those that do as `fold` of FindTileFold does to the lanes of elements of this type, as far as there are
// some; sums of rows are taken in f64. Accumulators are lanes.
StoredFolds FindStoredFolds(const TileCall& fold, ElementType stored);

}  // namespace hlo::cpu
