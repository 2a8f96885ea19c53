#pragma once
// GEMM of f64 matrices on tensor cores, for operands of which the rows or the columns are contiguous. Thread
// block tiles are 128 x 64 or 64 x 64, and 16 terms deep. Each of four warps computes half the tile's rows by
// 32 columns. Asynchronous copies form a pipeline with one barrier per stage. Every element is one chain of
// fused multiply-adds in ascending k.

#include "base/arithmetic.h"
#include "kernels/cuda/gemm/f64_gemm_body.h"

namespace hlo::cuda {

// Copies tiles of an operand of kWidth rows (for b: columns). kLines: its terms are contiguous and a tile is
// [row][term]; otherwise its rows are contiguous and a tile is [term][row]. The padding of four elements
// makes the reads of fragments free of bank conflicts.
template <int kWidth, bool kLines>
class F64Tile {
 public:
  static constexpr int kDepth = 16, kThreads = 128;
  static constexpr int kPitch = (kLines ? kDepth : kWidth) + 4;
  static constexpr int kDoubles = (kLines ? kWidth : kDepth) * kPitch;

  HLO_DEVICE F64Tile(const Operand& operand, const void* data, uint32_t batch, uint32_t first,
                     uint32_t mn_end, uint32_t k_end, uint32_t thread)
      : data_(static_cast<const double*>(data)),
        vectors_(kLines ? operand.k_vectors : operand.load_pattern == LoadPattern::kVectors),
        along_(thread % kAlong * 2),
        across_(thread / kAlong),
        mn_end_(mn_end > first ? mn_end - first : 0),
        k_end_(k_end) {
    stride_ = kLines ? operand.mn.Stride() : operand.k.Stride();
    from_ = data_ + operand.origin + operand.batch.Offset(batch) + int64_t{first} * operand.mn.Stride() +
            along_ + int64_t{across_} * stride_;
  }

  // Starts the copies of the terms from k on.
  template <class Env>
  HLO_DEVICE void Start(Env& env, uint32_t k, double* tile) const {
    const double* from = from_ + int64_t{k} * (kLines ? 1 : stride_);
    double* to = tile + across_ * kPitch + along_;
    // The remaining elements along the contiguous index, and across it.
    const int along_left = static_cast<int>(kLines ? k_end_ - k : mn_end_) - static_cast<int>(along_);
    const int across_left = static_cast<int>(kLines ? mn_end_ : k_end_ - k) - static_cast<int>(across_);
    const int count = along_left < 0 ? 0 : along_left < 2 ? along_left : 2;
    HLO_UNROLL
    for (int i = 0; i < kCopies; ++i) {
      const int valid = i * kStep < across_left ? count : 0;
      const double* at = valid > 0 ? from + i * kStep * stride_ : data_;
      if (vectors_) {
        env.template copy_async<16>(to + i * kStep * kPitch, at, 8 * valid);
      } else {
        env.template copy_async<8>(to + i * kStep * kPitch, at, valid > 0 ? 8 : 0);
        env.template copy_async<8>(to + i * kStep * kPitch + 1, valid > 1 ? at + 1 : data_,
                                   valid > 1 ? 8 : 0);
      }
    }
  }

  static HLO_DEVICE double At(const double* tile, uint32_t row, uint32_t term) {
    return kLines ? tile[row * kPitch + term] : tile[term * kPitch + row];
  }

 private:
  static constexpr int kAlong = (kLines ? kDepth : kWidth) / 2;  // Threads along the contiguous index.
  static constexpr int kStep = kThreads / kAlong;
  static constexpr int kCopies = kWidth * kDepth / 2 / kThreads;

  const double* data_;
  const double* from_;
  int64_t stride_;  // The stride of the other index.
  bool vectors_;
  uint32_t along_, across_, mn_end_, k_end_;
};

template <int kTileRows, bool kLinesA, bool kLinesB>
struct F64DenseGemm {
  using Args = GemmArgs;
  static constexpr uint32_t kThreads = 128, kMinBlocks = 2;
  static constexpr uint32_t kRows = kTileRows, kColumns = 64;
  static constexpr int kDepth = 16, kStages = kTileRows == 128 ? 3 : 4;
  using TileA = F64Tile<kTileRows, kLinesA>;
  using TileB = F64Tile<64, kLinesB>;
  static constexpr int kStageDoubles = TileA::kDoubles + TileB::kDoubles;
  static constexpr size_t kSharedBytes = kStages * kStageDoubles * sizeof(double);
  static constexpr int kRowTiles = kTileRows / 32, kColumnTiles = 4;  // Tiles of 16 x 8 per warp.
  using Sums = double[kRowTiles][kColumnTiles][4];

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const GemmArgs& args) {
    if (IsSwitchedOff(args)) return;
    const GemmBlock block = BlockOf(args, env.block().x);
    auto* stages = reinterpret_cast<double*>(env.shared());
    const TileA a(args.gemm.a, args.a, block.batch, block.row_tile * kRows, args.gemm.m, block.k_end,
                  env.thread());
    const TileB b(args.gemm.b, args.b, block.batch, block.column_tile * kColumns, args.gemm.n, block.k_end,
                  env.thread());
    const uint32_t count = CeilDiv(block.k_end - block.k_begin, kDepth);
    const auto start = [&](uint32_t step) {
      if (step < count) {
        double* tile = stages + step % kStages * kStageDoubles;
        a.Start(env, block.k_begin + step * kDepth, tile);
        b.Start(env, block.k_begin + step * kDepth, tile + TileA::kDoubles);
      }
      env.commit();
    };
    HLO_UNROLL
    for (uint32_t step = 0; step < kStages - 1; ++step) start(step);
    Sums sums = {};
    HLO_ROLLED
    for (uint32_t step = 0; step < count; ++step) {
      env.template wait<kStages - 2>();
      // After this barrier, all copies of this step are visible, and no thread reads the tile of the previous
      // step.
      env.sync();
      start(step + kStages - 1);
      Multiply(env, stages + step % kStages * kStageDoubles, sums);
    }
    Store(env, args, block, sums);
  }

 private:
  static HLO_DEVICE uint32_t WarpRow(uint32_t thread) { return thread / 64 * (kTileRows / 2); }
  static HLO_DEVICE uint32_t WarpColumn(uint32_t thread) { return thread / 32 % 2 * 32; }

  template <class Env>
  static HLO_DEVICE void Multiply(Env& env, const double* tile, Sums& sums) {
    const uint32_t g = env.thread() % 32 / 4, q = env.thread() % 4;
    const uint32_t row = WarpRow(env.thread()) + g, column = WarpColumn(env.thread()) + g;
    HLO_UNROLL
    for (uint32_t k = 0; k < kDepth; k += 8) {
      double a[kRowTiles][4], b[kColumnTiles][2];
      HLO_UNROLL
      for (uint32_t i = 0; i < kRowTiles; ++i) {
        HLO_UNROLL
        for (uint32_t x = 0; x < 4; ++x)
          a[i][x] = TileA::At(tile, row + 16 * i + x % 2 * 8, q + k + x / 2 * 4);
      }
      HLO_UNROLL
      for (uint32_t j = 0; j < kColumnTiles; ++j) {
        HLO_UNROLL
        for (uint32_t x = 0; x < 2; ++x)
          b[j][x] = TileB::At(tile + TileA::kDoubles, column + 8 * j, q + k + x * 4);
      }
      HLO_UNROLL
      for (int i = 0; i < kRowTiles; ++i) {
        HLO_UNROLL
        for (int j = 0; j < kColumnTiles; ++j) MmaF64(env, sums[i][j], a[i], b[j]);
      }
    }
  }

  struct alignas(16) Pair {
    double x[2];
  };
  // The two columns of a lane are stored together where rows begin at even offsets.
  template <class Env>
  static HLO_DEVICE void Store(Env& env, const GemmArgs& args, const GemmBlock& block, const Sums& sums) {
    const Gemm& p = args.gemm;
    const uint32_t row = block.row_tile * kRows + WarpRow(env.thread()) + env.thread() % 32 / 4;
    const uint32_t column = block.column_tile * kColumns + WarpColumn(env.thread()) + env.thread() % 4 * 2;
    const bool in_parts = args.chunks > 1, pairs = in_parts ? p.n % 2 == 0 : p.result.pairs;
    const ElementType type = in_parts ? ElementType::kF64 : p.result.type;
    void* to = in_parts ? args.parts : args.result;
    const int64_t first = in_parts ? PartOffset(args, block.chunk, block.batch, 0, 0)
                                   : p.result.origin + p.result.batch.Offset(block.batch);
    int64_t columns[kColumnTiles][2];
    HLO_UNROLL
    for (uint32_t j = 0; j < kColumnTiles; ++j) {
      HLO_UNROLL
      for (uint32_t x = 0; x < 2; ++x)
        columns[j][x] = in_parts ? column + 8 * j + x : p.result.columns.Offset(column + 8 * j + x);
    }
    HLO_UNROLL
    for (uint32_t i = 0; i < kRowTiles * 2; ++i) {
      const uint32_t r = row + 8 * i;
      if (r >= p.m) break;
      const int64_t line = first + (in_parts ? int64_t{r} * p.n : p.result.rows.Offset(r));
      HLO_UNROLL
      for (uint32_t j = 0; j < kColumnTiles; ++j) {
        const Pair pair = {{sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]}};
        if (pairs && type == ElementType::kF64 && column + 8 * j + 1 < p.n) {
          *reinterpret_cast<Pair*>(static_cast<double*>(to) + line + columns[j][0]) = pair;
          continue;
        }
        HLO_UNROLL
        for (uint32_t x = 0; x < 2; ++x) {
          if (column + 8 * j + x < p.n) StoreElement<double>(type, to, line + columns[j][x], pair.x[x]);
        }
      }
    }
  }
};

}  // namespace hlo::cuda
