#pragma once
// Products of f32 in true single precision on the ordinary arithmetic units. Every element of the result (or
// of a chunk's part of it) is one chain of fused multiply-adds in ascending k, whatever the tile: the bits of
// a scalar loop.

#include <cmath>

#include "kernels/cuda/f32_tile.h"
#include "kernels/cuda/product_launch.h"

namespace hlo::cuda {

struct alignas(16) FourFloats {
  float x[4];
};

// Copies tiles of one operand into shared memory, as [term][row]. kAxes: elements may be missing.
template <int kWidth, int kDepth, bool kAxes>
class F32TileReader {
 public:
  static constexpr int kPitch = kWidth + 4;
  // Of shared memory, beside the tiles: where each row begins.
  static constexpr size_t kTableBytes =
      kWidth * (sizeof(int64_t) + (kAxes ? kAxisRank * sizeof(int32_t) : 0));

  HLO_DEVICE F32TileReader(const Operand& operand, const void* data, std::byte* table, uint32_t first,
                           uint32_t mn_end, uint32_t k_end)
      : operand_(operand),
        data_(static_cast<const float*>(data)),
        offsets_(reinterpret_cast<int64_t*>(table)),
        coordinates_(reinterpret_cast<int32_t*>(table + kWidth * sizeof(int64_t))),
        rows_(mn_end > first ? mn_end - first : 0),
        first_(first),
        k_end_(k_end) {}

  template <class Env>
  HLO_DEVICE void FillTable(Env& env, uint32_t batch) {
    for (uint32_t r = env.thread(); r < kWidth; r += env.threads()) {
      if (r >= rows_) continue;
      if constexpr (kAxes) {
        Place place = RowPlace(operand_, batch, first_ + r);
        AddAxes(operand_, &place);
        offsets_[r] = place.offset;
        HLO_UNROLL
        for (int x = 0; x < kAxisRank; ++x) coordinates_[x * kWidth + r] = place.coordinates[x];
      } else {
        offsets_[r] = operand_.origin + operand_.batch.Offset(batch) + operand_.mn.Offset(first_ + r);
      }
    }
  }

  // Starts the copy of terms k_first, ... of all rows.
  template <class Env>
  HLO_DEVICE void Start(Env& env, uint32_t k_first, float* tile) const {
    if (operand_.reading == Reading::kVectors)
      StartVectors(env, k_first, tile);
    else if (operand_.reading == Reading::kAlongMn)
      StartElements<CopyAlongMn<kWidth, kDepth>>(env, k_first, tile);
    else
      StartElements<CopyAlongK<kWidth, kDepth>>(env, k_first, tile);
  }

 private:
  template <class Env>
  HLO_DEVICE void StartVectors(Env& env, uint32_t k_first, float* tile) const {
    using Map = CopyVectors<kWidth, kDepth>;
    const uint32_t mn = Map::Mn(env.thread(), 0);
    const int left = static_cast<int>(rows_) - static_cast<int>(mn);
    const int row_bytes = left <= 0 ? 0 : left >= 4 ? 16 : 4 * left;
    const float* row = data_ + (left > 0 ? offsets_[mn] : 0);
    HLO_UNROLL
    for (int i = 0; i < Map::kCount; ++i) {
      const uint32_t k = Map::K(env.thread(), i);
      const bool exists = k_first + k < k_end_ && left > 0;
      const float* from = exists ? row + operand_.k.Offset(k_first + k) : data_;
      env.template copy_async<16>(tile + k * kPitch + mn, from, exists ? row_bytes : 0);
    }
  }

  template <class Map, class Env>
  HLO_DEVICE void StartElements(Env& env, uint32_t k_first, float* tile) const {
    Place term;
    HLO_UNROLL
    for (int i = 0; i < Map::kCount; ++i) {
      const uint32_t k = Map::K(env.thread(), i), mn = Map::Mn(env.thread(), i);
      const bool term_exists = k_first + k < k_end_;
      if (i == 0 || k != Map::K(env.thread(), i - 1)) {
        term = Place();
        if (term_exists) {
          if constexpr (kAxes) {
            operand_.k.Add(k_first + k, &term);
            AddAxes(operand_, &term);
          } else {
            term.offset = operand_.k.Offset(k_first + k);
          }
        }
      }
      const bool exists = term_exists && mn < rows_ && IsInside(term, mn);
      const float* from = exists ? data_ + (offsets_[mn] + term.offset) : data_;
      env.template copy_async<4>(tile + k * kPitch + mn, from, exists ? 4 : 0);
    }
  }

  HLO_DEVICE bool IsInside(const Place& term, uint32_t mn) const {
    if constexpr (!kAxes) return true;
    bool inside = true;
    HLO_UNROLL
    for (int x = 0; x < kAxisRank; ++x) {
      const int32_t c = coordinates_[x * kWidth + mn] + term.coordinates[x];
      inside &= static_cast<uint32_t>(c) < static_cast<uint32_t>(operand_.axes[x].extent);
    }
    return inside;
  }

  const Operand& operand_;
  const float* data_;
  int64_t* offsets_;
  int32_t* coordinates_;
  uint32_t rows_, first_, k_end_;
};

template <class Tile, bool kAxes>
struct F32Product {
  using Args = ProductArgs;
  static constexpr uint32_t kThreads = Tile::kThreads;
  using ReaderA = F32TileReader<Tile::kRows, Tile::kDepth, kAxes>;
  using ReaderB = F32TileReader<Tile::kColumns, Tile::kDepth, kAxes>;
  static constexpr size_t kSharedBytes =
      Tile::kStages * Tile::kStageFloats * sizeof(float) + ReaderA::kTableBytes + ReaderB::kTableBytes;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const ProductArgs& args);

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

  static HLO_DEVICE void Store(const ProductArgs& args, const ProductBlock& block, uint32_t thread,
                               const float (&sums)[kR][kC]);
};

template <class Tile, bool kAxes>
template <class Env>
HLO_DEVICE void F32Product<Tile, kAxes>::Run(Env& env, const ProductArgs& args) {
  if (IsSwitchedOff(args)) return;
  const ProductBlock block = BlockOf(args, env.block().x);
  float* stages = reinterpret_cast<float*>(env.shared());
  std::byte* tables = env.shared() + Tile::kStages * Tile::kStageFloats * sizeof(float);
  ReaderA a(args.product.a, args.a, tables, block.row_tile * Tile::kRows, args.product.m, block.k_end);
  ReaderB b(args.product.b, args.b, tables + ReaderA::kTableBytes, block.column_tile * Tile::kColumns,
            args.product.n, block.k_end);
  a.FillTable(env, block.batch);
  b.FillTable(env, block.batch);
  env.sync();

  const uint32_t tiles = (block.k_end - block.k_begin + Tile::kDepth - 1) / Tile::kDepth;
  const auto start = [&](uint32_t t, uint32_t stage) {
    if (t < tiles) {
      float* tile = stages + stage * Tile::kStageFloats;
      a.Start(env, block.k_begin + t * Tile::kDepth, tile);
      b.Start(env, block.k_begin + t * Tile::kDepth, tile + Tile::kDepth * ReaderA::kPitch);
    }
    env.commit();
  };
  float sums[kR][kC];
  HLO_UNROLL
  for (int r = 0; r < kR; ++r) {
    HLO_UNROLL
    for (int c = 0; c < kC; ++c) sums[r][c] = 0;
  }
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
    // The stage before this one was read to its end before the last barrier.
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
      const Fragment& now = fragments[k % 2];
      HLO_UNROLL
      for (int r = 0; r < kR; ++r) {
        HLO_UNROLL
        for (int c = 0; c < kC; ++c) sums[r][c] = fmaf(now.a[r], now.b[c], sums[r][c]);
      }
    }
    stage = next;
  }
  Store(args, block, env.thread(), sums);
}

template <class Tile, bool kAxes>
HLO_DEVICE void F32Product<Tile, kAxes>::Store(const ProductArgs& args, const ProductBlock& block,
                                               uint32_t thread, const float (&sums)[kR][kC]) {
  const Product& p = args.product;
  const bool to_parts = args.chunks > 1;
  float* out = static_cast<float*>(to_parts ? args.parts : args.result);
  const int64_t origin = to_parts ? 0 : p.result.origin + p.result.batch.Offset(block.batch);
  const bool vectors = to_parts ? p.n % 4 == 0 : p.result.vectors;
  const uint32_t first_row = block.row_tile * Tile::kRows, first_column = block.column_tile * Tile::kColumns;
  int64_t places[kC];
  HLO_UNROLL
  for (int c = 0; c < kC; ++c) {
    const uint32_t j = first_column + Tile::Column(thread, c);
    places[c] = vectors || to_parts ? j : p.result.columns.Offset(j);
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
        *reinterpret_cast<FourFloats*>(row + places[c]) = {sums[r][c], sums[r][c + 1], sums[r][c + 2],
                                                           sums[r][c + 3]};
      } else {
        HLO_UNROLL
        for (int x = 0; x < 4; ++x) {
          if (j + x < p.n) row[places[c + x]] = sums[r][c + x];
        }
      }
    }
  }
}

using LargeF32Tile = F32Tile<128, 128>;
using SmallF32Tile = F32Tile<64, 64>;
struct F32ProductLarge : F32Product<LargeF32Tile, false> {};
struct F32ProductSmall : F32Product<SmallF32Tile, false> {};
struct F32ConvolutionLarge : F32Product<LargeF32Tile, true> {};
struct F32ConvolutionSmall : F32Product<SmallF32Tile, true> {};

}  // namespace hlo::cuda
