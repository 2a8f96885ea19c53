#pragma once
// Arguments of the GEMM kernels whose operands TMA copies, and the copies of a stage.

#include "kernels/cuda/gemm/gemm_args.h"
#include "kernels/cuda/gemm/im2col.h"
#include "kernels/cuda/intrinsics/hopper.h"

namespace hlo::cuda {

struct TmaGemmArgs {
  GemmArgs gemm;
  uint32_t blocks = 1;                          // Tiles times chunks times batch.
  uint32_t a_batch_step = 1, b_batch_step = 1;  // 0: the operand is broadcast over the batch.
  // For convolutions, gemm.k counts whole blocks of channels, and so do the tiles of filter gradients.
  Im2colArgs im2col;
  bool linear_columns = true;  // The result's columns are adjacent.
  TensorMap a, b;
};

// The operands' tiles in a stage: offsets, widths and first indices.
struct StageTile {
  std::byte *a, *b;
  uint32_t rows, columns;
  uint32_t first_row, first_column;
};

// Copies `width` rows (or columns) from `mn` on. kRows: they are contiguous, in slabs.
template <bool kRows, class Env>
HLO_DEVICE void CopyTile(Env& env, std::byte* to, const TensorMap& map, uint32_t width, uint32_t mn,
                         uint32_t k, uint32_t batch, uint64_t* barrier) {
  if constexpr (kRows) {
    for (uint32_t first = 0; first < width; first += TmaSlab::kWidth)
      CopyBox(env, to + first * TmaSlab::kBytesPerRow, map, static_cast<int>(mn + first), static_cast<int>(k),
              static_cast<int>(batch), barrier);
  } else {
    CopyBox(env, to, map, static_cast<int>(k), static_cast<int>(mn), static_cast<int>(batch), barrier);
  }
}

// Copies a stage of a forward convolution, from step k on. Its patches are K-major.
template <bool kRowsA, bool kRowsB, class Env>
HLO_DEVICE void CopyConvolution(Env& env, const TmaGemmArgs& args, const StageTile& tile, uint32_t k,
                                const PixelIndex& first, uint64_t* barrier) {
  const TapBlock block = TapBlockAt(args.im2col, k / args.im2col.block);
  if constexpr (!kRowsB) {
    if (kRowsA || args.im2col.patches_are_b) {
      CopyFilter<kRowsA>(env, tile.a, args.a, args.im2col, block, tile.first_row, tile.rows, barrier);
      return CopyPatches(env, tile.b, args.b, args.im2col, block, first, barrier);
    }
  }
  CopyPatches(env, tile.a, args.a, args.im2col, block, first, barrier);
  CopyFilter<kRowsB>(env, tile.b, args.b, args.im2col, block, tile.first_column, tile.columns, barrier);
}

// Copies a stage of a filter gradient, from pixel k on. Both operands are MN-major.
template <class Env>
HLO_DEVICE void CopyFilterGradient(Env& env, const TmaGemmArgs& args, const StageTile& tile, uint32_t k,
                                   uint64_t* barrier) {
  const PixelIndex pixel = PixelAt(args.im2col, k);
  if (args.im2col.patches_are_b) {
    CopyTile<true>(env, tile.a, args.a, tile.rows, tile.first_row, k, 0, barrier);
    CopyTapRows(env, tile.b, args.b, args.im2col, tile.first_column, tile.columns, pixel, barrier);
  } else {
    CopyTapRows(env, tile.a, args.a, args.im2col, tile.first_row, tile.rows, pixel, barrier);
    CopyTile<true>(env, tile.b, args.b, tile.columns, tile.first_column, k, 0, barrier);
  }
}

}  // namespace hlo::cuda
