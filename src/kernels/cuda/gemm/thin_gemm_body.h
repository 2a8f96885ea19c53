#pragma once
// Products with at most eight columns (GEMV-like), limited by one pass over the rows. Stored is the operands'
// element type, T the accumulator type.

#include "kernels/cuda/gemm/gemm_body.h"
#include "kernels/cuda/intrinsics/halves.h"
#include "kernels/cuda/memory/element_io.h"

namespace hlo::cuda {

inline constexpr uint32_t kThinColumns = 8;

// 16-bit floats in memory.
struct HalfBits {
  uint16_t bits;
};
struct BFloatBits {
  uint16_t bits;
};

HLO_DEVICE float Widen(float value) { return value; }
HLO_DEVICE double Widen(double value) { return value; }
HLO_DEVICE float Widen(BFloatBits value) {
  const uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
  float result;
  __builtin_memcpy(&result, &bits, sizeof result);
  return result;
}
HLO_DEVICE float Widen(HalfBits value) { return FloatOfF16(value.bits); }

template <class Stored>
struct alignas(16) Vector16 {
  static constexpr int kCount = 16 / sizeof(Stored);
  Stored x[kCount];
};

// Several rows per warp, lanes along the terms, for up to kColumns columns. Each lane accumulates its terms
// in ascending k, 16-byte vectors interleaved over the 32 lanes; then a butterfly reduction over distances
// 16, 8, 4, 2 and 1.
template <class Stored, class T, int kColumns>
struct ThinAlongK {
  using Args = GemmArgs;
  static constexpr uint32_t kThreads = 256, kWarpRows = 4, kRows = kThreads / kWarpSize * kWarpRows;
  static constexpr size_t kSharedBytes = 0;
  using Vector = Vector16<Stored>;
  static constexpr uint32_t kStep = Vector::kCount, kStride = kWarpSize * kStep;
  static constexpr uint32_t kMinBlocks = kColumns * (kStep + sizeof(T)) > 32 ? 1 : 2;
  static constexpr uint32_t kAhead = 2;  // Vectors of each row that are loaded ahead of their use.

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const GemmArgs& args) {
    const GemmBlock block = BlockOf(args, env.block().x);
    const Gemm& p = args.gemm;
    const uint32_t lane = env.thread() % kWarpSize;
    const uint32_t first = block.row_tile * kRows + env.thread() / kWarpSize * kWarpRows;
    const Stored *a[kWarpRows], *b[kColumns];
    HLO_UNROLL
    for (uint32_t r = 0; r < kWarpRows; ++r)
      a[r] = static_cast<const Stored*>(args.a) + p.a.origin + p.a.batch.Offset(block.batch) +
             p.a.mn.Offset(first + r < p.m ? first + r : p.m - 1);
    HLO_UNROLL
    for (uint32_t j = 0; j < kColumns; ++j)
      b[j] = static_cast<const Stored*>(args.b) + p.b.origin + p.b.batch.Offset(block.batch) +
             p.b.mn.Offset(j < p.n ? j : 0);
    T sums[kWarpRows][kColumns] = {};
    uint32_t k = block.k_begin + lane * kStep;
    if (p.a.k_vectors && p.b.k_vectors) {
      for (; k + (kAhead - 1) * kStride + kStep <= block.k_end; k += kAhead * kStride)
        AddVectors<kAhead>(env, a, b, k, sums);
      for (; k + kStep <= block.k_end; k += kStride) AddVectors<1>(env, a, b, k, sums);
    }
    HLO_ROLLED
    for (; k < block.k_end; k += kStride) AddTerms(p, a, b, k, block.k_end, sums);
    HLO_UNROLL
    for (uint32_t r = 0; r < kWarpRows; ++r) {
      HLO_UNROLL
      for (uint32_t j = 0; j < kColumns; ++j) {
        for (int d = kWarpSize / 2; d > 0; d /= 2) sums[r][j] += env.shfl_xor(sums[r][j], d);
        if (j < p.n && lane == 0 && first + r < p.m)
          StoreSum(args, block.chunk, block.batch, first + r, j, sums[r][j]);
      }
    }
  }

 private:
  static HLO_DEVICE void Add(const Vector& left, const Vector& right, T& sum) {
    HLO_UNROLL
    for (uint32_t i = 0; i < kStep; ++i) sum = MultiplyAdd(T{Widen(left.x[i])}, T{Widen(right.x[i])}, sum);
  }

  // The rows are read once, the columns by all warps.
  template <uint32_t kVectors, class Env>
  static HLO_DEVICE void AddVectors(Env& env, const Stored* const (&a)[kWarpRows],
                                    const Stored* const (&b)[kColumns], uint32_t k,
                                    T (&sums)[kWarpRows][kColumns]) {
    Vector left[kVectors][kWarpRows];
    HLO_UNROLL
    for (uint32_t v = 0; v < kVectors; ++v) {
      HLO_UNROLL
      for (uint32_t r = 0; r < kWarpRows; ++r)
        left[v][r] = env.load_once(reinterpret_cast<const Vector*>(a[r] + k + v * kStride));
    }
    HLO_UNROLL
    for (uint32_t v = 0; v < kVectors; ++v) {
      HLO_UNROLL
      for (uint32_t j = 0; j < kColumns; ++j) {
        const Vector right = *reinterpret_cast<const Vector*>(b[j] + k + v * kStride);
        HLO_UNROLL
        for (uint32_t r = 0; r < kWarpRows; ++r) Add(left[v][r], right, sums[r][j]);
      }
    }
  }

  // Returns x[i] = element k + i of a row; zero from k_end on.
  static HLO_DEVICE Vector LoadVector(const Operand& operand, const Stored* row, uint32_t k, uint32_t k_end) {
    if (operand.k_vectors && k + kStep <= k_end) return *reinterpret_cast<const Vector*>(row + k);
    Vector result = {};
    HLO_UNROLL
    for (uint32_t i = 0; i < kStep; ++i) {
      if (k + i < k_end) result.x[i] = row[(k + i) * operand.k.Stride()];
    }
    return result;
  }
  static HLO_DEVICE void AddTerms(const Gemm& p, const Stored* const (&a)[kWarpRows],
                                  const Stored* const (&b)[kColumns], uint32_t k, uint32_t k_end,
                                  T (&sums)[kWarpRows][kColumns]) {
    Vector left[kWarpRows];
    HLO_UNROLL
    for (uint32_t r = 0; r < kWarpRows; ++r) left[r] = LoadVector(p.a, a[r], k, k_end);
    HLO_UNROLL
    for (uint32_t j = 0; j < kColumns; ++j) {
      const Vector right = LoadVector(p.b, b[j], k, k_end);
      HLO_UNROLL
      for (uint32_t r = 0; r < kWarpRows; ++r) Add(left[r], right, sums[r][j]);
    }
  }
};

// One thread per row if adjacent rows are contiguous; accumulates in ascending k.
template <class Stored, class T, int kColumns>
struct ThinAlongRows {
  using Args = GemmArgs;
  static constexpr uint32_t kThreads = 256, kRows = kThreads;
  static constexpr size_t kSharedBytes = 0;
  static constexpr uint32_t kAhead = 8;  // Terms that are loaded ahead of their use.

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const GemmArgs& args) {
    const GemmBlock block = BlockOf(args, env.block().x);
    const Gemm& p = args.gemm;
    const uint32_t row = block.row_tile * kRows + env.thread();
    if (row >= p.m) return;
    const int64_t a_step = p.a.k.Stride(), b_step = p.b.k.Stride();
    const Stored* a = static_cast<const Stored*>(args.a) + p.a.origin + p.a.batch.Offset(block.batch) +
                      p.a.mn.Offset(row) + block.k_begin * a_step;
    const Stored* b = static_cast<const Stored*>(args.b) + p.b.origin + p.b.batch.Offset(block.batch) +
                      block.k_begin * b_step;
    int64_t columns[kColumns];
    HLO_UNROLL
    for (uint32_t j = 0; j < kColumns; ++j) columns[j] = p.b.mn.Offset(j < p.n ? j : 0);
    T sums[kColumns] = {};
    uint32_t k = block.k_begin;
    HLO_ROLLED
    for (; k + kAhead <= block.k_end; k += kAhead) {
      AddTerms<kAhead>(a, a_step, b, b_step, columns, sums);
      a += kAhead * a_step;
      b += kAhead * b_step;
    }
    HLO_ROLLED
    for (; k < block.k_end; ++k) {
      AddTerms<1>(a, a_step, b, b_step, columns, sums);
      a += a_step;
      b += b_step;
    }
    HLO_UNROLL
    for (uint32_t j = 0; j < kColumns; ++j) {
      if (j < p.n) StoreSum(args, block.chunk, block.batch, row, j, sums[j]);
    }
  }

 private:
  template <uint32_t kTerms>
  static HLO_DEVICE void AddTerms(const Stored* a, int64_t a_step, const Stored* b, int64_t b_step,
                                  const int64_t (&columns)[kColumns], T (&sums)[kColumns]) {
    T left[kTerms];
    HLO_UNROLL
    for (uint32_t x = 0; x < kTerms; ++x) left[x] = T{Widen(a[x * a_step])};
    HLO_UNROLL
    for (uint32_t j = 0; j < kColumns; ++j) {
      HLO_UNROLL
      for (uint32_t x = 0; x < kTerms; ++x)
        sums[j] = MultiplyAdd(left[x], T{Widen(b[columns[j] + x * b_step])}, sums[j]);
    }
  }
};

}  // namespace hlo::cuda
