#pragma once
// Products with at most eight columns (GEMV-like), limited by one pass over the rows. Stored is the operands'
// element type, T the accumulator type.

#include "kernels/cuda/gemm/gemm_body.h"
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
HLO_DEVICE float Widen(HalfBits value) {
  // Rebiases the exponent by 112. The multiplication normalises subnormals; infinities and NaN are handled
  // separately.
  const uint32_t magnitude = static_cast<uint32_t>(value.bits & 0x7fff) << 13;
  uint32_t bits = magnitude;
  float result;
  __builtin_memcpy(&result, &bits, sizeof result);
  result *= 0x1p112f;
  __builtin_memcpy(&bits, &result, sizeof bits);
  if (magnitude >= 0x0f800000u) bits = magnitude | 0x7f800000u;
  bits |= static_cast<uint32_t>(value.bits & 0x8000) << 16;
  __builtin_memcpy(&result, &bits, sizeof result);
  return result;
}

template <class Stored>
struct alignas(16) Vector16 {
  static constexpr int kCount = 16 / sizeof(Stored);
  Stored x[kCount];
};

// One warp per row, lanes along the terms. Each lane accumulates its terms in ascending k, 16-byte vectors
// interleaved over the 32 lanes; then a butterfly reduction over distances 16, 8, 4, 2 and 1.
template <class Stored, class T>
struct ThinAlongK {
  using Args = GemmArgs;
  static constexpr uint32_t kThreads = 256, kRows = kThreads / kWarpSize;
  static constexpr size_t kSharedBytes = 0;
  static constexpr uint32_t kStep = Vector16<Stored>::kCount;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const GemmArgs& args) {
    const GemmBlock block = BlockOf(args, env.block().x);
    const Gemm& p = args.gemm;
    const uint32_t lane = env.thread() % kWarpSize;
    const uint32_t row = block.row_tile * kRows + env.thread() / kWarpSize;
    const uint32_t i = row < p.m ? row : p.m - 1;
    const Stored* a =
        static_cast<const Stored*>(args.a) + p.a.origin + p.a.batch.Offset(block.batch) + p.a.mn.Offset(i);
    const Stored* b[kThinColumns];
    HLO_UNROLL
    for (uint32_t j = 0; j < kThinColumns; ++j)
      b[j] = static_cast<const Stored*>(args.b) + p.b.origin + p.b.batch.Offset(block.batch) +
             p.b.mn.Offset(j < p.n ? j : 0);
    T sums[kThinColumns] = {};
    for (uint32_t k = block.k_begin + lane * kStep; k < block.k_end; k += kWarpSize * kStep)
      AddTerms(args, a, b, k, block.k_end, sums);
    HLO_UNROLL
    for (uint32_t j = 0; j < kThinColumns; ++j) {
      for (int d = kWarpSize / 2; d > 0; d /= 2) sums[j] += env.shfl_xor(sums[j], d);
      if (j < p.n && lane == 0 && row < p.m) StoreSum(args, block.chunk, block.batch, row, j, sums[j]);
    }
  }

 private:
  // Returns x[i] = element k + i of a row; zero from k_end on.
  static HLO_DEVICE Vector16<Stored> Take(const Operand& operand, const Stored* row, uint32_t k,
                                          uint32_t k_end) {
    if (operand.k_vectors && k + kStep <= k_end) return *reinterpret_cast<const Vector16<Stored>*>(row + k);
    Vector16<Stored> result = {};
    HLO_UNROLL
    for (uint32_t i = 0; i < kStep; ++i) {
      if (k + i < k_end) result.x[i] = row[(k + i) * operand.k.Stride()];
    }
    return result;
  }

  static HLO_DEVICE void AddTerms(const GemmArgs& args, const Stored* a, const Stored* const* b, uint32_t k,
                                  uint32_t k_end, T* sums) {
    const Gemm& p = args.gemm;
    const Vector16<Stored> left = Take(p.a, a, k, k_end);
    HLO_UNROLL
    for (uint32_t j = 0; j < kThinColumns; ++j) {
      if (j >= p.n) break;
      const Vector16<Stored> right = Take(p.b, b[j], k, k_end);
      HLO_UNROLL
      for (uint32_t i = 0; i < kStep; ++i)
        sums[j] = MultiplyAdd(T{Widen(left.x[i])}, T{Widen(right.x[i])}, sums[j]);
    }
  }
};

// One thread per row if adjacent rows are contiguous; accumulates in ascending k.
template <class Stored, class T>
struct ThinAlongRows {
  using Args = GemmArgs;
  static constexpr uint32_t kThreads = 256, kRows = kThreads;
  static constexpr size_t kSharedBytes = 0;
  static constexpr uint32_t kAhead = 4;  // Terms that are loaded ahead of their use.

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
    int64_t columns[kThinColumns];
    HLO_UNROLL
    for (uint32_t j = 0; j < kThinColumns; ++j) columns[j] = p.b.mn.Offset(j < p.n ? j : 0);
    T sums[kThinColumns] = {};
    HLO_ROLLED
    for (uint32_t k = block.k_begin; k < block.k_end; k += kAhead) {
      T left[kAhead];
      HLO_UNROLL
      for (uint32_t x = 0; x < kAhead; ++x) left[x] = k + x < block.k_end ? T{Widen(a[x * a_step])} : T{};
      HLO_UNROLL
      for (uint32_t j = 0; j < kThinColumns; ++j) {
        if (j >= p.n) break;
        HLO_UNROLL
        for (uint32_t x = 0; x < kAhead; ++x) {
          if (k + x < block.k_end)
            sums[j] = MultiplyAdd(left[x], T{Widen(b[columns[j] + x * b_step])}, sums[j]);
        }
      }
      a += kAhead * a_step;
      b += kAhead * b_step;
    }
    HLO_UNROLL
    for (uint32_t j = 0; j < kThinColumns; ++j) {
      if (j < p.n) StoreSum(args, block.chunk, block.batch, row, j, sums[j]);
    }
  }
};

}  // namespace hlo::cuda
