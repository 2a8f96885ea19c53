#pragma once
// This file declares the micro-kernels of direct convolutions: products whose terms are several runs.

#include "absl/types/span.h"
#include "kernels/cpu/gemm/tile.h"

namespace hlo::cpu {

// A position in the input and in the kernel.
struct Offsets {
  int64_t input, kernel;
};

// Operands that consist of several runs of k_count terms, at these offsets from a and b.
template <class T>
struct RunOperands {
  Tile<T> tile;
  absl::Span<const Offsets> runs;
  Terms terms;  // kSingle, or kPairs for u32.
  bool kernel_is_a;
};

// The columns of a tile: 1, 2, 4 or 8 vectors. Tiles of many rows have up to kMaxVectors. Those of few rows
// have more, because the additions of one vector wait for each other.
inline constexpr int kMaxVectors = 2, kMaxVectorsOfFewRows = kVectorRegisters / 4;
// The largest number of rows whose sums, a row of b, and a factor fit in the registers.
inline constexpr int64_t MaxRows(int64_t vectors) {
  return vectors <= kMaxVectors ? (kVectorRegisters - 4) / vectors : (kVectorRegisters - 1) / vectors - 1;
}

// Computes a tile of up to MaxRows(vectors) rows in f32, f64 or u32. The last vector has operands.tile.last
// columns.
template <class T>
void SumRuns(const RunOperands<T>& operands, int64_t rows, int64_t vectors);

}  // namespace hlo::cpu
