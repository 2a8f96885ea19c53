#pragma once
// This file reduces arrays directly in memory. Several streams are read at once, because the hardware
// prefetcher fetches more in total than from a single one.

#include <cstdint>

#include "kernels/cpu/elementwise/tile_ops.h"

namespace hlo::cpu {

struct StoredFolds {
  static constexpr int kAtOnce = 4;

  // Computes results[r] = rows[r][0] op rows[r][1] op ... for kAtOnce rows of n > 0 elements, in an
  // unspecified order. It is null if reducing the rows one by one is faster.
  void (*rows)(int64_t n, const void* const* rows, void* results) = nullptr;
  // Computes the same bits for a single row.
  void (*row)(int64_t n, const void* row, void* result) = nullptr;
  // Reduces one long row.
  void (*long_row)(int64_t n, const void* row, void* result) = nullptr;
  // Computes accumulators[i] = accumulators[i] op rows[0][i] op rows[1][i] op ... in this order.
  void (*columns)(int64_t n, const void* const* rows, void* accumulators) = nullptr;
};
// Returns the functions, as far as they exist, that are equivalent to `fold` of FindTileFold for elements of
// this storage type. Sums of rows are accumulated in f64. Accumulators have the compute type.
StoredFolds FindStoredFolds(const TileCall& fold, ElementType stored);

}  // namespace hlo::cpu
