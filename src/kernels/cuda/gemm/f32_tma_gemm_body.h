#pragma once
// GEMM of f32 in full single precision on Hopper. TMA copies stages of 32 terms; a thread computes 8 rows by
// 8 or 16 columns. In small tiles several groups of threads, the slices, compute the same elements from a
// part of the terms of each stage; their sums are added in order. Without slices each element is one chain of
// fused multiply-adds in ascending k. The patches of convolutions are copied in im2col mode.

#include <cmath>

#include "base/arithmetic.h"
#include "kernels/cuda/gemm/epilogue.h"
#include "kernels/cuda/gemm/tma_gemm_args.h"

namespace hlo::cuda {

// The mapping of a tile to 128 threads. A warp computes 64 rows; adjacent lanes own columns in runs of four.
template <int kTileRows, int kTileColumns>
struct F32TmaTile {
  static constexpr int kRows = kTileRows, kColumns = kTileColumns;
  static constexpr int kDepth = 32, kStages = kRows >= 128 ? 3 : 4;
  static constexpr uint32_t kThreads = 128;
  static constexpr int kThreadRows = 8, kThreadColumns = kColumns >= 128 ? 16 : 8;
  static constexpr int kSliceThreads = kRows / kThreadRows * kColumns / kThreadColumns;
  static constexpr int kSlices = static_cast<int>(kThreads) / kSliceThreads;
  static constexpr int kABytes = kRows * kDepth * 4, kStageBytes = kABytes + kColumns * kDepth * 4;
  static constexpr uint32_t kMinBlocks = kColumns >= 128 ? 2 : kColumns == 64 ? 3 : 4;
  static constexpr size_t kSharedBytes = kStages * kStageBytes + kStages * sizeof(uint64_t);
  static_assert(kSlices == 1 || kRows * kColumns * kSlices * 4 <= kStages * kStageBytes);

  // First row and first column of a warp.
  static HLO_DEVICE uint32_t WarpRow(uint32_t thread) {
    return InSlice(thread) / kWarpSize / kWarpColumns * 64;
  }
  static HLO_DEVICE uint32_t WarpColumn(uint32_t thread) {
    return InSlice(thread) / kWarpSize % kWarpColumns * 4 * kThreadColumns;
  }
  static HLO_DEVICE uint32_t Slice(uint32_t thread) { return thread / kSliceThreads; }
  static HLO_DEVICE uint32_t InSlice(uint32_t thread) { return thread % kSliceThreads; }

  // Row `r` < kThreadRows of a thread; kRowsA: rows are contiguous, and threads own runs of four.
  template <bool kRowsA>
  static HLO_DEVICE uint32_t Row(uint32_t thread, int r) {
    const uint32_t lane = thread % kWarpSize / 4, i = static_cast<uint32_t>(r);
    return WarpRow(thread) + (kRowsA ? lane * 4 + i / 4 * 32 + i % 4 : lane + 8 * i);
  }
  // Column `c` < kThreadColumns of a thread when it stores.
  static HLO_DEVICE uint32_t Column(uint32_t thread, int c) {
    const auto i = static_cast<uint32_t>(c);
    return WarpColumn(thread) + thread % 4 * 4 + i / 4 * 16 + i % 4;
  }

 private:
  static constexpr uint32_t kWarpColumns = static_cast<uint32_t>(kColumns / (4 * kThreadColumns));
};

template <class Tile, bool kRowsA, bool kRowsB>
struct F32TmaGemm {
  using Args = TmaGemmArgs;
  static constexpr uint32_t kThreads = Tile::kThreads, kMinBlocks = Tile::kMinBlocks;
  static constexpr size_t kSharedBytes = Tile::kSharedBytes;
  static constexpr int kR = Tile::kThreadRows, kC = Tile::kThreadColumns;
  static constexpr int kTerms = Tile::kDepth / Tile::kSlices;  // Terms of a stage per slice.

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const TmaGemmArgs& args);

 private:
  using Im2col = Im2colArgs::Mode;

  // K-major operands are read in pairs of terms, MN-major ones a term at a time. Both are double-buffered.
  struct Fragments {
    float a[2][kRowsA ? 1 : 2][kR];
    float b[2][kRowsB ? 1 : 2][kC];

    HLO_DEVICE float A(int k, int r) const {
      return kRowsA ? a[k % 2][0][r] : a[k / 2 % 2][k % (kRowsA ? 1 : 2)][r];
    }
    HLO_DEVICE float B(int k, int c) const {
      return kRowsB ? b[k % 2][0][c] : b[k / 2 % 2][k % (kRowsB ? 1 : 2)][c];
    }
  };

  template <class Env>
  static HLO_DEVICE void Copy(Env& env, const TmaGemmArgs& args, const GemmBlock& block, uint32_t t,
                              const PixelIndex& first, std::byte* stage, uint64_t* full);
  static HLO_DEVICE void Read(const std::byte* stage, uint32_t thread, int k, Fragments* to);
  static HLO_DEVICE void MultiplyAdd(const Fragments& now, int k, float (&sums)[kR][kC]);
  template <class Env>
  static HLO_DEVICE void Store(Env& env, const TmaGemmArgs& args, const GemmBlock& block,
                               float (&sums)[kR][kC]);
  template <class Env>
  static HLO_DEVICE void StoreRow(Env& env, const TmaGemmArgs& args, const GemmBlock& block, uint32_t row,
                                  float (&sums)[kC]);
};

// Two adjacent terms.
struct alignas(8) TermPair {
  float x[2];
};

// Reads term k of the thread's slice, and the next one where pairs are read, which happens at even k only.
template <class Tile, bool kRowsA, bool kRowsB>
HLO_DEVICE void F32TmaGemm<Tile, kRowsA, kRowsB>::Read(const std::byte* stage, uint32_t thread, int k,
                                                       Fragments* to) {
  const uint32_t lane = thread % kWarpSize, term = Tile::Slice(thread) * kTerms + static_cast<uint32_t>(k);
  const auto* a = reinterpret_cast<const float*>(stage);
  const auto* b = reinterpret_cast<const float*>(stage + Tile::kABytes);
  if constexpr (kRowsA) {
    const float* from = a + Tile::WarpRow(thread) * Tile::kDepth + term * TmaSlab::kWidth + lane / 4 * 4;
    HLO_UNROLL
    for (int r = 0; r < kR; r += 4) {
      const FourFloats four = *reinterpret_cast<const FourFloats*>(from + r / 4 * 32);
      HLO_UNROLL
      for (int x = 0; x < 4; ++x) to->a[k % 2][0][r + x] = four.x[x];
    }
  } else if (k % 2 == 0) {
    // Eight consecutive rows have their chunks of four terms in different banks.
    const uint32_t row = lane / 4;
    const float* from = a + (Tile::WarpRow(thread) + row) * Tile::kDepth + ((term / 4) ^ row) * 4 + term % 4;
    HLO_UNROLL
    for (int r = 0; r < kR; ++r) {
      const TermPair pair = *reinterpret_cast<const TermPair*>(from + 8 * r * Tile::kDepth);
      HLO_UNROLL
      for (int x = 0; x < 2; ++x) to->a[k / 2 % 2][x * (kRowsA ? 0 : 1)][r] = pair.x[x];
    }
  }
  if constexpr (kRowsB) {
    constexpr uint32_t kWidth = Tile::kColumns < 64 ? Tile::kColumns : 64;
    const uint32_t column = Tile::WarpColumn(thread);
    const float* from =
        b + column / kWidth * kWidth * Tile::kDepth + term * kWidth + column % kWidth + lane % 4 * 4;
    HLO_UNROLL
    for (int c = 0; c < kC; c += 4) {
      const FourFloats four = *reinterpret_cast<const FourFloats*>(from + c / 4 * 16);
      HLO_UNROLL
      for (int x = 0; x < 4; ++x) to->b[k % 2][0][c + x] = four.x[x];
    }
  } else if (k % 2 == 0) {
    const uint32_t column = lane % 4;
    const float* from = b + (Tile::WarpColumn(thread) + column) * Tile::kDepth + term % 4;
    HLO_UNROLL
    for (int c = 0; c < kC; ++c) {
      const uint32_t chunk = (term / 4) ^ (column + 4 * (static_cast<uint32_t>(c) & 1));
      const TermPair pair = *reinterpret_cast<const TermPair*>(from + 4 * c * Tile::kDepth + chunk * 4);
      HLO_UNROLL
      for (int x = 0; x < 2; ++x) to->b[k / 2 % 2][x * (kRowsB ? 0 : 1)][c] = pair.x[x];
    }
  }
}

// Rows in serpentine order keep an operand in the register cache.
template <class Tile, bool kRowsA, bool kRowsB>
HLO_DEVICE void F32TmaGemm<Tile, kRowsA, kRowsB>::MultiplyAdd(const Fragments& now, int k,
                                                              float (&sums)[kR][kC]) {
  constexpr int kRun = kC == 16 ? 1 : 4;
  HLO_UNROLL
  for (int first = 0; first < kC; first += kRun) {
    HLO_UNROLL
    for (int i = 0; i < kR; ++i) {
      const int r = first / kRun % 2 == 0 ? i : kR - 1 - i;
      HLO_UNROLL
      for (int c = first; c < first + kRun; ++c) sums[r][c] = fmaf(now.A(k, r), now.B(k, c), sums[r][c]);
    }
  }
}

template <class Tile, bool kRowsA, bool kRowsB>
template <class Env>
HLO_DEVICE void F32TmaGemm<Tile, kRowsA, kRowsB>::Copy(Env& env, const TmaGemmArgs& args,
                                                       const GemmBlock& block, uint32_t t,
                                                       const PixelIndex& first, std::byte* stage,
                                                       uint64_t* full) {
  const StageTile tile{stage,          stage + Tile::kABytes,        Tile::kRows,
                       Tile::kColumns, block.row_tile * Tile::kRows, block.column_tile * Tile::kColumns};
  const uint32_t k = block.k_begin + t * Tile::kDepth;
  ArriveExpecting(env, full, Tile::kStageBytes);
  constexpr Im2col kMode = kRowsA && kRowsB ? Im2col::kFilterGradient : Im2col::kForward;
  if (args.im2col.mode == kMode) {
    if constexpr (kMode == Im2col::kForward)
      CopyConvolution<kRowsA, kRowsB>(env, args, tile, k, first, full);
    else
      CopyFilterGradient(env, args, tile, k, full);
    return;
  }
  CopyTile<kRowsA>(env, tile.a, args.a, tile.rows, tile.first_row, k, block.batch * args.a_batch_step, full);
  CopyTile<kRowsB>(env, tile.b, args.b, tile.columns, tile.first_column, k, block.batch * args.b_batch_step,
                   full);
}

template <class Tile, bool kRowsA, bool kRowsB>
template <class Env>
HLO_DEVICE void F32TmaGemm<Tile, kRowsA, kRowsB>::Run(Env& env, const TmaGemmArgs& args) {
  if (IsSwitchedOff(args.gemm)) return;
  const GemmBlock block = BlockOf(args.gemm, env.block().x);
  std::byte* stages = env.shared();
  auto* full = reinterpret_cast<uint64_t*>(stages + Tile::kStages * Tile::kStageBytes);
  const uint32_t tiles = CeilDiv(block.k_end - block.k_begin, Tile::kDepth);
  const bool copies = env.thread() == 0;
  PixelIndex first;
  if (copies) {
    if (args.im2col.mode == Im2col::kForward)
      first = PixelAt(args.im2col, args.im2col.patches_are_b ? block.column_tile * Tile::kColumns
                                                             : block.row_tile * Tile::kRows);
    for (int s = 0; s < Tile::kStages; ++s) InitBarrier(env, &full[s], 1);
    PublishBarriers(env);
    for (uint32_t t = 0; t < Tile::kStages && t < tiles; ++t)
      Copy(env, args, block, t, first, stages + t * Tile::kStageBytes, &full[t]);
  }
  env.sync_warp();  // Barriers of the block are reached by whole warps.
  env.sync();
  float sums[kR][kC];
  HLO_UNROLL
  for (int r = 0; r < kR; ++r) {
    HLO_UNROLL
    for (int c = 0; c < kC; ++c) sums[r][c] = 0;
  }
  Fragments fragments;
  WaitFor(env, &full[0], 0);
  Read(stages, env.thread(), 0, &fragments);
  uint32_t stage = 0, parity = 0;
  HLO_ROLLED
  for (uint32_t t = 0; t < tiles; ++t) {
    std::byte* now = stages + stage * Tile::kStageBytes;
    HLO_UNROLL
    for (int k = 0; k < kTerms; ++k) {
      if (k + 1 < kTerms) {
        Read(now, env.thread(), k + 1, &fragments);
      } else {
        // All threads have read this stage.
        env.sync();
        if (copies && t + Tile::kStages < tiles)
          Copy(env, args, block, t + Tile::kStages, first, now, &full[stage]);
        env.sync_warp();
        if (++stage == Tile::kStages) {
          stage = 0;
          parity ^= 1;
        }
        if (t + 1 < tiles) {
          WaitFor(env, &full[stage], parity);
          Read(stages + stage * Tile::kStageBytes, env.thread(), 0, &fragments);
        }
      }
      MultiplyAdd(fragments, k, sums);
    }
  }
  Store(env, args, block, sums);
}

// Adds the sums of the slices in order; each slice stores some of the rows.
template <class Tile, bool kRowsA, bool kRowsB>
template <class Env>
HLO_DEVICE void F32TmaGemm<Tile, kRowsA, kRowsB>::Store(Env& env, const TmaGemmArgs& args,
                                                        const GemmBlock& block, float (&sums)[kR][kC]) {
  if constexpr (Tile::kSlices == 1) {
    HLO_UNROLL
    for (int r = 0; r < kR; ++r)
      StoreRow(env, args, block, Tile::template Row<kRowsA>(env.thread(), r), sums[r]);
  } else {
    constexpr uint32_t kSliceSums = kR * kC * Tile::kSliceThreads;
    auto* all = reinterpret_cast<float*>(env.shared());
    const uint32_t slice = Tile::Slice(env.thread()), thread = Tile::InSlice(env.thread());
    HLO_UNROLL
    for (int i = 0; i < kR * kC; ++i)
      all[slice * kSliceSums + i * Tile::kSliceThreads + thread] = sums[i / kC][i % kC];
    env.sync();
    constexpr int kSliceRows = kR / Tile::kSlices;
    HLO_ROLLED
    for (int i = 0; i < kSliceRows; ++i) {
      const int r = static_cast<int>(slice) * kSliceRows + i;
      float row[kC];
      HLO_UNROLL
      for (int c = 0; c < kC; ++c) {
        const float* from = all + (r * kC + c) * Tile::kSliceThreads + thread;
        row[c] = from[0];
        HLO_UNROLL
        for (int s = 1; s < Tile::kSlices; ++s) row[c] += from[s * kSliceSums];
      }
      StoreRow(env, args, block, Tile::template Row<kRowsA>(env.thread(), r), row);
    }
  }
}

// Exchanges values between four lanes: lane q passes in columns q + 4 * x and receives columns 4 * q + x.
template <class Env>
HLO_DEVICE void TransposeFour(Env& env, uint32_t lane, float (&x)[4]) {
  const bool odd = (lane & 1) != 0, high = (lane & 2) != 0;
  HLO_UNROLL
  for (int i = 0; i < 4; i += 2) {
    const float got = env.shfl_xor(odd ? x[i] : x[i + 1], 1);
    x[i] = odd ? got : x[i];
    x[i + 1] = odd ? x[i + 1] : got;
  }
  HLO_UNROLL
  for (int i = 0; i < 2; ++i) {
    const float got = env.shfl_xor(high ? x[i] : x[i + 2], 2);
    x[i] = high ? got : x[i];
    x[i + 2] = high ? x[i + 2] : got;
  }
}

// The columns of K-major operands are exchanged between lanes, so that each lane stores vectors.
template <class Tile, bool kRowsA, bool kRowsB>
template <class Env>
HLO_DEVICE void F32TmaGemm<Tile, kRowsA, kRowsB>::StoreRow(Env& env, const TmaGemmArgs& args,
                                                           const GemmBlock& block, uint32_t row,
                                                           float (&sums)[kC]) {
  const Gemm& p = args.gemm.gemm;
  const bool to_parts = args.gemm.chunks > 1, is_finished = !to_parts && p.epilogue.op_count > 0;
  uint32_t i = block.row_tile * Tile::kRows + row;
  [[maybe_unused]] const bool is_gradient = args.im2col.mode == Im2col::kFilterGradient;
  bool exists = true;
  if constexpr (kRowsA && kRowsB)
    exists = !is_gradient || args.im2col.patches_are_b || FindTapChannel(args.im2col, &i);
  exists &= i < p.m;
  const int64_t first = !exists ? 0
                        : to_parts
                            ? PartOffset(args.gemm, block.chunk, block.batch, i, 0)
                            : p.result.origin + p.result.batch.Offset(block.batch) + p.result.rows.Offset(i);
  void* out = to_parts ? args.gemm.parts : args.gemm.result;
  HLO_UNROLL
  for (int c = 0; c < kC; c += 4) {
    float four[4] = {sums[c], sums[c + 1], sums[c + 2], sums[c + 3]};
    if constexpr (!kRowsB) TransposeFour(env, env.thread() % kWarpSize, four);
    uint32_t j = block.column_tile * Tile::kColumns + Tile::Column(env.thread(), c);
    if constexpr (kRowsA && kRowsB) {
      // The number of channels is a multiple of four.
      if (is_gradient && args.im2col.patches_are_b && !FindTapChannel(args.im2col, &j)) continue;
    }
    if (!exists || j >= p.n) continue;
    if (!args.linear_columns && !to_parts) {
      HLO_UNROLL
      for (uint32_t v = 0; v < 4; ++v) {
        if (j + v >= p.n) continue;
        const int64_t apart = first + p.result.columns.Offset(j + v);
        if (is_finished)
          StoreFinished(p.epilogue, out, apart, four[v]);
        else
          static_cast<float*>(out)[apart] = four[v];
      }
      continue;
    }
    const int64_t offset = first + j;
    if (is_finished)
      StoreFourFinished(p.epilogue, out, offset, p.n - j, {{four[0], four[1], four[2], four[3]}});
    else
      StoreFour(static_cast<float*>(out) + offset, p.n - j, {{four[0], four[1], four[2], four[3]}});
  }
}

using F32TmaTile128x128 = F32TmaTile<128, 128>;
using F32TmaTile128x64 = F32TmaTile<128, 64>;
using F32TmaTile64x64 = F32TmaTile<64, 64>;
using F32TmaTile64x32 = F32TmaTile<64, 32>;

}  // namespace hlo::cuda
