#pragma once
// This file declares the micro-kernels of convolutions in place: products whose terms are several runs.

#include "absl/types/span.h"
#include "kernels/cpu/gemm/tile.h"

namespace hlo::cpu {

// A position in the input and in the kernel.
struct Offsets {
  int64_t input, kernel;
};

// Operands that consist of several runs of k_count terms, at these offsets from a and b.
struct RunOperands {
  Tile<float> tile;
  absl::Span<const Offsets> runs;
  bool kernel_is_a;
};

// The columns of a tile: up to kMaxVectors vectors.
inline constexpr int kMaxVectors = 2;
// The largest number of rows whose sums, a row of b, and a factor fit in the registers.
inline constexpr int64_t MaxRows(int64_t vectors) { return (kVectorRegisters - 4) / vectors; }

// Computes a tile of up to MaxRows(vectors) rows. The last vector has operands.tile.last columns.
void SumRuns(const RunOperands& operands, int64_t rows, int64_t vectors);

}  // namespace hlo::cpu
