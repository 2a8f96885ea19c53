#pragma once
// GEMM of f32 in full single precision on the CUDA cores (SIMT). Every element of the result, or of a split-K
// partial sum, is one chain of fused multiply-adds in ascending k, whatever the tile. So the bits equal those
// of a scalar loop.

#include <cmath>

#include "base/arithmetic.h"
#include "kernels/cuda/gemm/f32_tile.h"
#include "kernels/cuda/gemm/gemm_args.h"
#include "kernels/cuda/gemm/tile_reader.h"

namespace hlo::cuda {

template <class Tile, bool kAxes>
struct F32Gemm {
  using Args = GemmArgs;
  static constexpr uint32_t kThreads = Tile::kThreads;
  using ReaderA = TileReader<float, Tile::kRows, Tile::kDepth, 128, kAxes>;
  using ReaderB = TileReader<float, Tile::kColumns, Tile::kDepth, 128, kAxes>;
  static constexpr size_t kSharedBytes =
      Tile::kStages * Tile::kStageFloats * sizeof(float) + ReaderA::kTableBytes + ReaderB::kTableBytes;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const GemmArgs& args);

 private:
  static constexpr int kR = Tile::kThreadRows, kC = Tile::kThreadColumns;
  struct Fragment {
    float a[kR], b[kC];
  };

  static HLO_DEVICE void Read(const float* tile, uint32_t thread, int k, Fragment* fragment) {
    const float* a = tile + k * ReaderA::kPitch + Tile::Row(thread, 0);
    const float* b = tile + Tile::kDepth * ReaderA::kPitch + k * ReaderB::kPitch + Tile::Column(thread, 0);
    HLO_UNROLL
    for (int r = 0; r < kR; r += 4) {
      const FourFloats four = *reinterpret_cast<const FourFloats*>(a + r * 8);
      HLO_UNROLL
      for (int i = 0; i < 4; ++i) fragment->a[r + i] = four.x[i];
    }
    HLO_UNROLL
    for (int c = 0; c < kC; c += 4) {
      const FourFloats four = *reinterpret_cast<const FourFloats*>(b + c * 4);
      HLO_UNROLL
      for (int i = 0; i < 4; ++i) fragment->b[c + i] = four.x[i];
    }
  }

  static HLO_DEVICE void Clear(float (&sums)[kR][kC]) {
    HLO_UNROLL
    for (int r = 0; r < kR; ++r) {
      HLO_UNROLL
      for (int c = 0; c < kC; ++c) sums[r][c] = 0;
    }
  }
  static HLO_DEVICE void MultiplyAdd(const Fragment& now, float (&sums)[kR][kC]) {
    HLO_UNROLL
    for (int r = 0; r < kR; ++r) {
      HLO_UNROLL
      for (int c = 0; c < kC; ++c) sums[r][c] = fmaf(now.a[r], now.b[c], sums[r][c]);
    }
  }

  static HLO_DEVICE void Store(const GemmArgs& args, const GemmBlock& block, uint32_t thread,
                               const float (&sums)[kR][kC]);
};

template <class Tile, bool kAxes>
template <class Env>
HLO_DEVICE void F32Gemm<Tile, kAxes>::Run(Env& env, const GemmArgs& args) {
  if (IsSwitchedOff(args)) return;
  const GemmBlock block = BlockOf(args, env.block().x);
  float* stages = reinterpret_cast<float*>(env.shared());
  std::byte* tables = env.shared() + Tile::kStages * Tile::kStageFloats * sizeof(float);
  ReaderA a(args.gemm.a, args.a, tables, block.row_tile * Tile::kRows, args.gemm.m, block.k_end);
  ReaderB b(args.gemm.b, args.b, tables + ReaderA::kTableBytes, block.column_tile * Tile::kColumns,
            args.gemm.n, block.k_end);
  a.FillTable(env, block.batch);
  b.FillTable(env, block.batch);
  env.sync();

  const uint32_t tiles = CeilDiv(block.k_end - block.k_begin, Tile::kDepth);
  const auto start = [&](uint32_t t, uint32_t stage) {
    if (t < tiles) {
      float* tile = stages + stage * Tile::kStageFloats;
      a.Start(env, block.k_begin + t * Tile::kDepth, tile);
      b.Start(env, block.k_begin + t * Tile::kDepth, tile + Tile::kDepth * ReaderA::kPitch);
    }
    env.commit();
  };
  float sums[kR][kC];
  Clear(sums);
  HLO_ROLLED
  for (uint32_t t = 0; t < Tile::kStages - 1; ++t) start(t, t);
  env.template wait<1>();
  env.sync();

  Fragment fragments[2];
  if (tiles > 0) Read(stages, env.thread(), 0, &fragments[0]);
  uint32_t stage = 0;
  for (uint32_t t = 0; t < tiles; ++t) {
    const float* tile = stages + stage * Tile::kStageFloats;
    const uint32_t next = stage == Tile::kStages - 1 ? 0 : stage + 1;
    // The last barrier guarantees that all threads have finished reading the previous stage.
    start(t + 2, stage == 0 ? Tile::kStages - 1 : stage - 1);
    HLO_UNROLL
    for (int k = 0; k < Tile::kDepth; ++k) {
      Fragment& ahead = fragments[(k + 1) % 2];
      if (k + 1 < Tile::kDepth) {
        Read(tile, env.thread(), k + 1, &ahead);
      } else {
        env.template wait<1>();
        env.sync();
        if (t + 1 < tiles) Read(stages + next * Tile::kStageFloats, env.thread(), 0, &ahead);
      }
      MultiplyAdd(fragments[k % 2], sums);
    }
    stage = next;
  }
  Store(args, block, env.thread(), sums);
}

template <class Tile, bool kAxes>
HLO_DEVICE void F32Gemm<Tile, kAxes>::Store(const GemmArgs& args, const GemmBlock& block, uint32_t thread,
                                            const float (&sums)[kR][kC]) {
  const Gemm& p = args.gemm;
  const bool to_parts = args.chunks > 1;
  float* out = static_cast<float*>(to_parts ? args.parts : args.result);
  const int64_t origin = to_parts ? 0 : p.result.origin + p.result.batch.Offset(block.batch);
  const bool is_finished = !to_parts && p.epilogue.op_count > 0;
  const bool vectors = to_parts ? p.n % 4 == 0 : p.result.vectors && !is_finished;
  const uint32_t first_row = block.row_tile * Tile::kRows, first_column = block.column_tile * Tile::kColumns;
  int64_t column_offsets[kC];
  HLO_UNROLL
  for (int c = 0; c < kC; ++c) {
    const uint32_t j = first_column + Tile::Column(thread, c);
    column_offsets[c] = to_parts ? j : p.result.columns.Offset(j);
  }
  HLO_UNROLL
  for (int r = 0; r < kR; ++r) {
    const uint32_t i = first_row + Tile::Row(thread, r);
    if (i >= p.m) continue;
    float* row = out + (to_parts ? PartOffset(args, block.chunk, block.batch, i, 0)
                                 : origin + p.result.rows.Offset(i));
    HLO_UNROLL
    for (int c = 0; c < kC; c += 4) {
      const uint32_t j = first_column + Tile::Column(thread, c);
      if (vectors && j + 4 <= p.n) {
        *reinterpret_cast<FourFloats*>(row + column_offsets[c]) = {sums[r][c], sums[r][c + 1], sums[r][c + 2],
                                                                   sums[r][c + 3]};
      } else {
        HLO_UNROLL
        for (int x = 0; x < 4; ++x) {
          if (j + x >= p.n) continue;
          if (is_finished)
            StoreFinished(p.epilogue, out, row - out + column_offsets[c + x], sums[r][c + x]);
          else
            row[column_offsets[c + x]] = sums[r][c + x];
        }
      }
    }
  }
}

using LargeF32Tile = F32Tile<128, 128>;
using SmallF32Tile = F32Tile<64, 64>;
struct F32GemmLarge : F32Gemm<LargeF32Tile, false> {};
struct F32GemmSmall : F32Gemm<SmallF32Tile, false> {};
struct F32ConvolutionLarge : F32Gemm<LargeF32Tile, true> {};
struct F32ConvolutionSmall : F32Gemm<SmallF32Tile, true> {};

}  // namespace hlo::cuda
