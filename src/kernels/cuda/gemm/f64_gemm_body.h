#pragma once
// GEMM of f64 on tensor cores: thread block tiles of 128 x 128 x 16, eight warps with tiles of 64 x 32, and a
// three-stage pipeline of asynchronous copies.

#include "base/arithmetic.h"
#include "kernels/cuda/gemm/gemm_body.h"
#include "kernels/cuda/gemm/tile_reader.h"
#include "kernels/cuda/intrinsics/tensor_core.h"

namespace hlo::cuda {

// One MMA of a warp: 16 rows by 8 columns by 8 terms. With g = lane / 4 and q = lane % 4: a[2j + h] is row g
// + 8h, term q + 4j; b[j] is term q + 4j of column g; d[2h], d[2h + 1] are row g + 8h, columns 2q and 2q + 1.
#ifdef __CUDACC__
HLO_DEVICE void MmaF64(DeviceEnv&, double (&d)[4], const double (&a)[4], const double (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  HLO_UNROLL
  for (int j = 0; j < 2; ++j) {
    HLO_UNROLL
    for (int h = 0; h < 2; ++h)
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
                   : "+d"(d[2 * h]), "+d"(d[2 * h + 1])
                   : "d"(a[2 * j + h]), "d"(b[j]));
  }
#endif
}
#endif

// The emulator computes a chain of fused multiply-adds in ascending order of the terms.
template <class Env>
HLO_DEVICE void MmaF64(Env& env, double (&d)[4], const double (&a)[4], const double (&b)[2]) {
  const int lane = static_cast<int>(env.thread() % kWarpSize), g = lane / 4, q = lane % 4;
  for (int j = 0; j < 2; ++j) {
    double rows[2][4], columns[2][4];
    for (int h = 0; h < 2; ++h) {
      const std::byte* lanes = env.exchange(a[2 * j + h]);
      for (int x = 0; x < 4; ++x) rows[h][x] = PublishedBy<double>(lanes, 4 * g + x);
    }
    const std::byte* lanes = env.exchange(b[j]);
    for (int c = 0; c < 2; ++c) {
      for (int x = 0; x < 4; ++x) columns[c][x] = PublishedBy<double>(lanes, 4 * (2 * q + c) + x);
    }
    for (int i = 0; i < 4; ++i) {
      for (int x = 0; x < 4; ++x) d[i] = fma(rows[i / 2][x], columns[i % 2][x], d[i]);
    }
  }
}

struct F64Gemm {
  using Args = GemmArgs;
  static constexpr uint32_t kThreads = 256;
  static constexpr int kTile = 128, kDepth = 16, kStages = 3;
  using Reader = TileReader<double, kTile, kDepth, kThreads, true>;
  static constexpr int kStageDoubles = 2 * kDepth * Reader::kPitch;
  static constexpr int kResultPitch = kTile + 4;
  static constexpr size_t kStageBytes = kStages * kStageDoubles * sizeof(double) + 2 * Reader::kTableBytes;
  static constexpr size_t kResultBytes = kTile * kResultPitch * sizeof(double);
  static constexpr size_t kSharedBytes = kStageBytes > kResultBytes ? kStageBytes : kResultBytes;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const GemmArgs& args) {
    if (IsSwitchedOff(args)) return;
    const GemmBlock block = BlockOf(args, env.block().x);
    auto* stages = reinterpret_cast<double*>(env.shared());
    std::byte* tables = env.shared() + kStages * kStageDoubles * sizeof(double);
    Reader a(args.gemm.a, args.a, tables, block.row_tile * kTile, args.gemm.m, block.k_end);
    Reader b(args.gemm.b, args.b, tables + Reader::kTableBytes, block.column_tile * kTile, args.gemm.n,
             block.k_end);
    a.FillTable(env, block.batch);
    b.FillTable(env, block.batch);
    env.sync();
    const uint32_t tiles = CeilDiv(block.k_end - block.k_begin, kDepth);
    double sums[4][4][4] = {};
    HLO_ROLLED
    for (uint32_t step = 0; step < tiles + kStages - 1; ++step) {
      // The last barrier guarantees that all threads have finished reading the stage that is filled.
      if (step < tiles) {
        double* tile = stages + step % kStages * kStageDoubles;
        a.Start(env, block.k_begin + step * kDepth, tile);
        b.Start(env, block.k_begin + step * kDepth, tile + kDepth * Reader::kPitch);
      }
      env.commit();
      if (step < kStages - 1) continue;
      env.template wait<kStages - 1>();
      env.sync();
      Multiply(env, stages + (step + 1) % kStages * kStageDoubles, sums);
      env.sync();
    }
    Store(env, args, block, sums);
  }

 private:
  static HLO_DEVICE uint32_t WarpRow(uint32_t thread) { return thread / 128 * 64; }
  static HLO_DEVICE uint32_t WarpColumn(uint32_t thread) { return thread / 32 % 4 * 32; }

  template <class Env>
  static HLO_DEVICE void Multiply(Env& env, const double* tile, double (&sums)[4][4][4]) {
    const uint32_t g = env.thread() % 32 / 4, q = env.thread() % 4;
    const double* left = tile + q * Reader::kPitch + WarpRow(env.thread()) + g;
    const double* right = tile + (kDepth + q) * Reader::kPitch + WarpColumn(env.thread()) + g;
    HLO_UNROLL
    for (int k = 0; k < kDepth; k += 8) {
      double a[4][4], b[4][2];
      HLO_UNROLL
      for (int i = 0; i < 4; ++i) {
        HLO_UNROLL
        for (int x = 0; x < 4; ++x) a[i][x] = left[(k + x / 2 * 4) * Reader::kPitch + 16 * i + x % 2 * 8];
        HLO_UNROLL
        for (int x = 0; x < 2; ++x) b[i][x] = right[(k + x * 4) * Reader::kPitch + 8 * i];
      }
      HLO_UNROLL
      for (int i = 0; i < 4; ++i) {
        HLO_UNROLL
        for (int j = 0; j < 4; ++j) MmaF64(env, sums[i][j], a[i], b[j]);
      }
    }
  }

  // Stores through shared memory, so that global stores are coalesced.
  template <class Env>
  static HLO_DEVICE void Store(Env& env, const GemmArgs& args, const GemmBlock& block,
                               const double (&sums)[4][4][4]) {
    const uint32_t g = env.thread() % 32 / 4, q = env.thread() % 4;
    auto* tile = reinterpret_cast<double*>(env.shared());
    HLO_UNROLL
    for (int i = 0; i < 4; ++i) {
      HLO_UNROLL
      for (int j = 0; j < 4; ++j) {
        HLO_UNROLL
        for (int x = 0; x < 4; ++x)
          tile[(WarpRow(env.thread()) + 16 * i + x / 2 * 8 + g) * kResultPitch + WarpColumn(env.thread()) +
               8 * j + 2 * q + x % 2] = sums[i][j][x];
      }
    }
    env.sync();
    HLO_ROLLED
    for (uint32_t x = env.thread(); x < kTile * kTile; x += kThreads) {
      const uint32_t row = x / kTile, column = x % kTile;
      const uint32_t i = block.row_tile * kTile + row, j = block.column_tile * kTile + column;
      if (i < args.gemm.m && j < args.gemm.n)
        StoreSum(args, block.chunk, block.batch, i, j, tile[row * kResultPitch + column]);
    }
  }
};

}  // namespace hlo::cuda
