#pragma once
// Tensor-core GEMM by warp-level mma instructions, for all tensor-core GPUs: thread block tiles of 128 x 128
// by 64 bytes of terms, eight warps with tiles of 64 x 32, and a four-stage pipeline of asynchronous copies.
// Operands, K-major or MN-major, are loaded 16 bytes at a time.

#include "base/arithmetic.h"
#include "kernels/cuda/gemm/gemm_body.h"
#include "kernels/cuda/intrinsics/tensor_core.h"

namespace hlo::cuda {

struct MmaArgs : GemmArgs {
  MmaKind kind = MmaKind::kBF16;
  uint32_t element_bytes = 2;
};

// Swizzled shared memory offsets of the 16-byte chunks of an operand tile. Eight rows, or eight terms, that
// are read together are in different banks.
struct MmaTile {
  static constexpr uint32_t kWidth = 128, kDepthBytes = 64, kBytes = kWidth * kDepthBytes;
  // K-major: chunk < 4 of a row.
  static HLO_DEVICE uint32_t KMajor(uint32_t row, uint32_t chunk) {
    return row * kDepthBytes + ((chunk ^ (row >> 1 & 3)) * 16);
  }
  // MN-major, 16-bit elements: chunk < 16 of eight rows.
  static HLO_DEVICE uint32_t MnMajor(uint32_t k, uint32_t chunk) {
    return k * 2 * kWidth + ((chunk ^ (k & 7)) * 16);
  }
};

// Copies tiles of one operand into shared memory.
template <bool kMnMajor>
class MmaTileReader {
 public:
  static constexpr size_t kTableBytes =
      MmaTile::kWidth * (sizeof(int64_t) + (kMnMajor ? 0 : kAxisRank * sizeof(int32_t)));

  HLO_DEVICE MmaTileReader(const Operand& operand, const void* data, std::byte* table, uint32_t first,
                           uint32_t mn_end, uint32_t k_end, uint32_t element_bytes)
      : operand_(operand),
        data_(static_cast<const std::byte*>(data)),
        offsets_(reinterpret_cast<int64_t*>(table)),
        coordinates_(reinterpret_cast<int32_t*>(table + MmaTile::kWidth * sizeof(int64_t))),
        rows_(mn_end > first ? mn_end - first : 0),
        first_(first),
        k_end_(k_end),
        element_bytes_(element_bytes) {}

  template <class Env>
  HLO_DEVICE void FillTable(Env& env, uint32_t batch) {
    for (uint32_t r = env.thread(); r < MmaTile::kWidth && r < rows_; r += env.threads()) {
      Location location = RowLocation(operand_, batch, first_ + r);
      AddAxes(operand_, &location);
      offsets_[r] = location.offset * element_bytes_;
      if constexpr (!kMnMajor) {
        HLO_UNROLL
        for (int x = 0; x < kAxisRank; ++x) coordinates_[x * MmaTile::kWidth + r] = location.coordinates[x];
      }
    }
  }

  template <class Env>
  HLO_DEVICE void Start(Env& env, uint32_t k_first, std::byte* tile) const {
    if constexpr (kMnMajor) {
      HLO_UNROLL
      for (uint32_t i = 0; i < 2; ++i) {
        const uint32_t k = env.thread() / 16 + 16 * i, chunk = env.thread() % 16;
        const int left = static_cast<int>(rows_) - static_cast<int>(chunk * 8);
        const bool exists = left > 0 && k_first + k < k_end_;
        const std::byte* from =
            exists ? data_ + offsets_[chunk * 8] + operand_.k.Offset(k_first + k) * element_bytes_ : data_;
        env.template copy_async<16>(tile + MmaTile::MnMajor(k, chunk), from,
                                    exists ? (left < 8 ? left * 2 : 16) : 0);
      }
    } else {
      const uint32_t chunk = env.thread() % 4, k = k_first + chunk * (16 / element_bytes_);
      Location term;
      if (k < k_end_) {
        operand_.k.Add(k, &term);
        AddAxes(operand_, &term);
      }
      const uint32_t bytes = k < k_end_ ? (k_end_ - k) * element_bytes_ : 0;
      HLO_UNROLL
      for (uint32_t i = 0; i < 2; ++i) {
        const uint32_t row = env.thread() / 4 + 64 * i;
        const bool exists = bytes > 0 && row < rows_ && IsInside(term, row);
        const std::byte* from = exists ? data_ + offsets_[row] + term.offset * element_bytes_ : data_;
        env.template copy_async<16>(tile + MmaTile::KMajor(row, chunk), from,
                                    exists ? static_cast<int>(bytes < 16 ? bytes : 16) : 0);
      }
    }
  }

 private:
  HLO_DEVICE bool IsInside(const Location& term, uint32_t row) const {
    bool inside = true;
    HLO_UNROLL
    for (int x = 0; x < kAxisRank; ++x) {
      const int32_t c = coordinates_[x * MmaTile::kWidth + row] + term.coordinates[x];
      inside &= static_cast<uint32_t>(c) < static_cast<uint32_t>(operand_.axes[x].extent);
    }
    return inside;
  }

  const Operand& operand_;
  const std::byte* data_;
  int64_t* offsets_;
  int32_t* coordinates_;
  uint32_t rows_, first_, k_end_, element_bytes_;
};

struct alignas(8) TwoWords {
  uint32_t x[2];
};

// Stores elements (i, j) and (i, j + 1) of a product with accumulators of type T (f32 or u32); j is even.
template <class T>
HLO_DEVICE void StorePair(const GemmArgs& args, const GemmBlock& block, uint32_t i, uint32_t j, T first,
                          T second) {
  const Gemm& p = args.gemm;
  if (i >= p.m || j >= p.n) return;
  const Result& result = p.result;
  const bool is_finished = args.chunks == 1 && p.epilogue.op_count > 0;
  if (args.chunks > 1 && p.n % 2 == 0) {
    T* out = static_cast<T*>(args.parts) + PartOffset(args, block.chunk, block.batch, i, j);
    TwoWords two;
    __builtin_memcpy(&two.x[0], &first, 4);
    __builtin_memcpy(&two.x[1], &second, 4);
    *reinterpret_cast<TwoWords*>(out) = two;
    return;
  }
  if (args.chunks == 1 && !is_finished && result.pairs && j + 1 < p.n) {
    const int64_t offset =
        result.origin + result.batch.Offset(block.batch) + result.rows.Offset(i) + result.columns.Offset(j);
    if (result.type == ElementType::kF32 || result.type == ElementType::kS32 ||
        result.type == ElementType::kU32) {
      TwoWords two;
      __builtin_memcpy(&two.x[0], &first, 4);
      __builtin_memcpy(&two.x[1], &second, 4);
      *reinterpret_cast<TwoWords*>(static_cast<uint32_t*>(args.result) + offset) = two;
      return;
    }
    if constexpr (std::is_same_v<T, float>) {
      if (result.type == ElementType::kBF16 || result.type == ElementType::kF16) {
        const bool is_bf16 = result.type == ElementType::kBF16;
        const uint32_t low = is_bf16 ? FloatToBF16(first) : F16Of(first);
        const uint32_t high = is_bf16 ? FloatToBF16(second) : F16Of(second);
        *reinterpret_cast<uint32_t*>(static_cast<uint16_t*>(args.result) + offset) = low | high << 16;
        return;
      }
    }
  }
  StoreSum(args, block.chunk, block.batch, i, j, first);
  if (j + 1 < p.n) StoreSum(args, block.chunk, block.batch, i, j + 1, second);
}

// kMnMajorA: a is MN-major (16-bit elements only); kMnMajorB: the same for b.
template <bool kMnMajorA, bool kMnMajorB>
struct MmaGemm {
  using Args = MmaArgs;
  static constexpr uint32_t kThreads = 256;
  static constexpr int kStages = 4;
  using ReaderA = MmaTileReader<kMnMajorA>;
  using ReaderB = MmaTileReader<kMnMajorB>;
  // Number of words; padded so that rows start in different banks.
  static constexpr uint32_t kResultPitch = MmaTile::kWidth + 8;
  static constexpr size_t kStageBytes =
      kStages * 2 * MmaTile::kBytes + ReaderA::kTableBytes + ReaderB::kTableBytes;
  static constexpr size_t kResultBytes = MmaTile::kWidth * kResultPitch * sizeof(uint32_t);
  static constexpr size_t kSharedBytes = kStageBytes > kResultBytes ? kStageBytes : kResultBytes;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const MmaArgs& args) {
    if (IsSwitchedOff(args)) return;
    const GemmBlock block = BlockOf(args, env.block().x);
    std::byte* stages = env.shared();
    std::byte* tables = stages + kStages * 2 * MmaTile::kBytes;
    ReaderA a(args.gemm.a, args.a, tables, block.row_tile * MmaTile::kWidth, args.gemm.m, block.k_end,
              args.element_bytes);
    ReaderB b(args.gemm.b, args.b, tables + ReaderA::kTableBytes, block.column_tile * MmaTile::kWidth,
              args.gemm.n, block.k_end, args.element_bytes);
    a.FillTable(env, block.batch);
    b.FillTable(env, block.batch);
    env.sync();

    const uint32_t depth = MmaTile::kDepthBytes / args.element_bytes;
    const uint32_t tiles = CeilDiv(block.k_end - block.k_begin, depth);
    MmaD sums[4][4] = {};
    HLO_ROLLED
    for (uint32_t step = 0; step < tiles + kStages - 1; ++step) {
      // The last barrier guarantees that all threads have finished reading the stage that is filled.
      if (step < tiles) {
        std::byte* tile = stages + step % kStages * 2 * MmaTile::kBytes;
        a.Start(env, block.k_begin + step * depth, tile);
        b.Start(env, block.k_begin + step * depth, tile + MmaTile::kBytes);
      }
      env.commit();
      if (step < kStages - 1) continue;
      env.template wait<kStages - 1>();
      env.sync();
      Multiply(env, args.kind, stages + (step + 1) % kStages * 2 * MmaTile::kBytes, sums);
      env.sync();
    }
    Store(env, args, block, sums);
  }

 private:
  static HLO_DEVICE uint32_t WarpRow(uint32_t thread) { return thread / 128 * 64; }
  static HLO_DEVICE uint32_t WarpColumn(uint32_t thread) { return thread / 32 % 4 * 32; }

  template <class Env>
  static HLO_DEVICE void Multiply(Env& env, MmaKind kind, const std::byte* tile, MmaD (&sums)[4][4]) {
    HLO_UNROLL
    for (uint32_t half = 0; half < 2; ++half) {
      MmaA a[4];
      MmaB b[4];
      Read(env, tile, half, a, b);
      switch (kind) {
        case MmaKind::kBF16:
          Step<MmaKind::kBF16>(env, a, b, sums);
          break;
        case MmaKind::kF16:
          Step<MmaKind::kF16>(env, a, b, sums);
          break;
        default:
          if constexpr (!kMnMajorA && !kMnMajorB) {
            if (kind == MmaKind::kTF32) Step<MmaKind::kTF32>(env, a, b, sums);
            if (kind == MmaKind::kS8S8) Step<MmaKind::kS8S8>(env, a, b, sums);
            if (kind == MmaKind::kS8U8) Step<MmaKind::kS8U8>(env, a, b, sums);
            if (kind == MmaKind::kU8S8) Step<MmaKind::kU8S8>(env, a, b, sums);
            if (kind == MmaKind::kU8U8) Step<MmaKind::kU8U8>(env, a, b, sums);
          }
      }
    }
  }

  template <MmaKind kKind, class Env>
  static HLO_DEVICE void Step(Env& env, const MmaA (&a)[4], const MmaB (&b)[4], MmaD (&sums)[4][4]) {
    HLO_UNROLL
    for (int i = 0; i < 4; ++i) {
      HLO_UNROLL
      for (int j = 0; j < 4; ++j) Mma<kKind>(env, &sums[i][j], a[i], b[j]);
    }
  }

  // Loads the fragments of 32 bytes of terms, the first or second half of the tile.
  template <class Env>
  static HLO_DEVICE void Read(Env& env, const std::byte* tile, uint32_t half, MmaA (&a)[4], MmaB (&b)[4]) {
    const uint32_t lane = env.thread() % kWarpSize;
    const uint32_t low = lane & 15, high = lane >> 4, inner = (lane & 7) + (lane >> 4 << 3),
                   outer = lane >> 3 & 1;
    const uint32_t row = WarpRow(env.thread()), column = WarpColumn(env.thread());
    HLO_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t first = row + 16 * i;
      a[i] = LoadMatrices<kMnMajorA>(
          env, tile + (kMnMajorA ? MmaTile::MnMajor(16 * half + inner, first / 8 + outer)
                                 : MmaTile::KMajor(first + low, 2 * half + high)));
    }
    HLO_UNROLL
    for (uint32_t j = 0; j < 4; j += 2) {
      const uint32_t first = column + 8 * j;
      const MmaA both =
          LoadMatrices<kMnMajorB>(env, tile + MmaTile::kBytes +
                                           (kMnMajorB ? MmaTile::MnMajor(16 * half + low, first / 8 + high)
                                                      : MmaTile::KMajor(first + inner, 2 * half + outer)));
      b[j] = {both.x[0], both.x[1]};
      b[j + 1] = {both.x[2], both.x[3]};
    }
  }

  // Stores through shared memory, so that global stores are coalesced.
  template <class Env>
  static HLO_DEVICE void Store(Env& env, const MmaArgs& args, const GemmBlock& block,
                               const MmaD (&sums)[4][4]) {
    const bool floats =
        args.kind == MmaKind::kBF16 || args.kind == MmaKind::kF16 || args.kind == MmaKind::kTF32;
    const uint32_t g = env.thread() % 32 / 4, q = env.thread() % 4;
    auto* tile = reinterpret_cast<uint32_t*>(env.shared());
    HLO_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
      HLO_UNROLL
      for (uint32_t j = 0; j < 4; ++j) {
        HLO_UNROLL
        for (uint32_t h = 0; h < 2; ++h) {
          uint32_t* to = tile + (WarpRow(env.thread()) + 16 * i + 8 * h + g) * kResultPitch +
                         WarpColumn(env.thread()) + 8 * j + 2 * q;
          *reinterpret_cast<TwoWords*>(to) = {{sums[i][j].x[2 * h], sums[i][j].x[2 * h + 1]}};
        }
      }
    }
    env.sync();
    constexpr uint32_t kPairs = MmaTile::kWidth / 2;
    HLO_ROLLED
    for (uint32_t x = env.thread(); x < MmaTile::kWidth * kPairs; x += kThreads) {
      const uint32_t row = x / kPairs, column = x % kPairs * 2;
      const TwoWords two = *reinterpret_cast<const TwoWords*>(tile + row * kResultPitch + column);
      const uint32_t i = block.row_tile * MmaTile::kWidth + row,
                     j = block.column_tile * MmaTile::kWidth + column;
      if (floats)
        StorePair<float>(args, block, i, j, FloatOfBits(two.x[0]), FloatOfBits(two.x[1]));
      else
        StorePair<uint32_t>(args, block, i, j, two.x[0], two.x[1]);
    }
  }
};

using MmaGemmKMajor = MmaGemm<false, false>;
using MmaGemmMnMajorA = MmaGemm<true, false>;
using MmaGemmMnMajorB = MmaGemm<false, true>;
using MmaGemmMnMajor = MmaGemm<true, true>;

}  // namespace hlo::cuda
