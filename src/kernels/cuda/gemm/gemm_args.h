#pragma once
// Arguments of the GEMM kernels: the product, its tiling, and split-K.

#include "kernels/cuda/gemm/gemm.h"

namespace hlo::cuda {

struct GemmArgs {
  Gemm gemm;
  const void* a = nullptr;
  const void* b = nullptr;
  void* result = nullptr;
  // The index that varies fastest in the result's memory.
  enum class Innermost : uint8_t { kColumns, kRows, kBatch };
  Innermost innermost = Innermost::kColumns;
  // Tile rasterisation: `group` rows of tiles at a time, for L2 reuse.
  uint32_t tile_rows = 1, tile_columns = 1, group = 8;
  // Split-K: chunk s accumulates the terms [s * chunk, (s + 1) * chunk) into parts[s], dense arrays [batch,
  // m, n] of the accumulator type, which SumParts adds in order. A single chunk stores to the result
  // directly.
  uint32_t chunks = 1, chunk = 0xffffffffu;
  void* parts = nullptr;
  bool clears_nan = false;  // NaNs become 0 before the last part is added.
  // If set, thread blocks exit unless (*flag != 0) == run_if. The kernels for both cases are enqueued, and
  // the data select one without host synchronisation.
  const uint32_t* flag = nullptr;
  bool run_if = false;
};

// The tile, batch and chunk of a thread block.
struct GemmBlock {
  uint32_t row_tile, column_tile, batch, chunk, k_begin, k_end;
};

HLO_DEVICE GemmBlock BlockOf(const GemmArgs& args, uint32_t block) {
  const uint32_t tiles = args.tile_rows * args.tile_columns;
  const uint32_t rest = block / tiles, tile = block - rest * tiles;
  GemmBlock result;
  result.batch = rest / args.chunks;
  result.chunk = rest - result.batch * args.chunks;
  const uint32_t group_tiles = args.group * args.tile_columns, group = tile / group_tiles;
  const uint32_t in_group = tile - group * group_tiles, first = group * args.group;
  const uint32_t rows = args.tile_rows - first < args.group ? args.tile_rows - first : args.group;
  result.column_tile = in_group / rows;
  result.row_tile = first + in_group - result.column_tile * rows;
  result.k_begin = result.chunk * args.chunk;  // Only the last chunk may be shorter.
  const uint32_t left = args.gemm.k - result.k_begin;
  result.k_end = result.k_begin + (args.chunk < left ? args.chunk : left);
  return result;
}

HLO_DEVICE bool IsSwitchedOff(const GemmArgs& args) {
  return args.flag != nullptr && (*args.flag != 0) != args.run_if;
}

// Returns the offset in `parts` of the partial sum of (batch, i, j) over a chunk.
HLO_DEVICE int64_t PartOffset(const GemmArgs& args, uint32_t chunk, uint32_t batch, uint32_t i, uint32_t j) {
  const int64_t matrix = static_cast<int64_t>(chunk) * args.gemm.batch + batch;
  return (matrix * args.gemm.m + i) * args.gemm.n + j;
}

}  // namespace hlo::cuda
