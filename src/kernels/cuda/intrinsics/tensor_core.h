#pragma once
// Warp-level tensor-core instructions for kernel bodies: inline PTX on the device, emulation of the fragment
// layouts on the host. All 32 lanes participate.
//
// An mma multiplies 16 rows of a by 8 columns of b along 32 bytes of terms. With g = lane / 4, q = lane % 4
// and words of 4 bytes: a[0], a[1] hold word q of rows g and g + 8, a[2], a[3] word q + 4 of them; b[0], b[1]
// words q and q + 4 of column g; d[0], d[1] hold row g, columns 2q and 2q + 1; d[2], d[3] row g + 8.

#include "kernels/cuda/intrinsics/env.h"
#include "kernels/cuda/intrinsics/number.h"
#include "kernels/cuda/intrinsics/portable.h"
#include "types/small_float.h"

namespace hlo::cuda {

enum class MmaKind : uint8_t {
  kBF16,  // 16 terms, f32 accumulators. Compute capability 8.0.
  kF16,
  kTF32,  // 8 terms: f32 with a 10-bit mantissa. 8.0.
  kE4E4,  // 32 terms, f8e4m3fn or f8e5m2, f32 accumulators with 13 bits: wgmma on Hopper only.
  kE4E5,
  kE5E4,
  kE5E5,
  kS8S8,  // 32 terms, s32 accumulators, which wrap; also the kinds below.
  kS8U8,
  kU8S8,
  kU8U8,
};

// Conversions between a 32-bit register and f32.
HLO_DEVICE float FloatOfBits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
HLO_DEVICE uint32_t BitsOfFloat(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

struct MmaA {
  uint32_t x[4];
};
struct MmaB {
  uint32_t x[2];
};
struct MmaD {
  uint32_t x[4];
};

#ifdef __CUDACC__

#define HLO_MMA_FLOATS(shape_and_types)                                                                  \
  asm volatile("mma.sync.aligned." shape_and_types " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" \
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                                          \
               : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b.x[0]), "r"(b.x[1]))
#define HLO_MMA_INTEGERS(types)                                             \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." types               \
               ".s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"    \
               : "+r"(d->x[0]), "+r"(d->x[1]), "+r"(d->x[2]), "+r"(d->x[3]) \
               : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b.x[0]), "r"(b.x[1]))
// Turing's m8n8k16: half the rows and half the terms.
#define HLO_MMA_INTEGERS_8(types, row, word)                                                   \
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32." types ".s32 {%0,%1},{%2},{%3},{%0,%1};" \
               : "+r"(d->x[2 * row]), "+r"(d->x[2 * row + 1])                                  \
               : "r"(a.x[row + 2 * word]), "r"(b.x[word]))

template <MmaKind kKind>
HLO_DEVICE void MmaFloats(MmaD* d, const MmaA& a, const MmaB& b) {
#ifdef __CUDA_ARCH__
  float f[4] = {FloatOfBits(d->x[0]), FloatOfBits(d->x[1]), FloatOfBits(d->x[2]), FloatOfBits(d->x[3])};
#if __CUDA_ARCH__ >= 800
  if constexpr (kKind == MmaKind::kBF16)
    HLO_MMA_FLOATS("m16n8k16.row.col.f32.bf16.bf16.f32");
  else if constexpr (kKind == MmaKind::kF16)
    HLO_MMA_FLOATS("m16n8k16.row.col.f32.f16.f16.f32");
  else
    HLO_MMA_FLOATS("m16n8k8.row.col.f32.tf32.tf32.f32");
#else
  if constexpr (kKind == MmaKind::kF16) {
    for (int half = 0; half < 2; ++half) {
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
          : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
          : "r"(a.x[2 * half]), "r"(a.x[2 * half + 1]), "r"(b.x[half]));
    }
  }
#endif
  for (int i = 0; i < 4; ++i) d->x[i] = BitsOfFloat(f[i]);
#endif
}

template <MmaKind kKind>
HLO_DEVICE void MmaIntegers(MmaD* d, const MmaA& a, const MmaB& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (kKind == MmaKind::kS8S8) HLO_MMA_INTEGERS("s8.s8");
  if constexpr (kKind == MmaKind::kS8U8) HLO_MMA_INTEGERS("s8.u8");
  if constexpr (kKind == MmaKind::kU8S8) HLO_MMA_INTEGERS("u8.s8");
  if constexpr (kKind == MmaKind::kU8U8) HLO_MMA_INTEGERS("u8.u8");
#elif defined(__CUDA_ARCH__)
  HLO_UNROLL
  for (int word = 0; word < 2; ++word) {
    HLO_UNROLL
    for (int row = 0; row < 2; ++row) {
      if constexpr (kKind == MmaKind::kS8S8) HLO_MMA_INTEGERS_8("s8.s8", row, word);
      if constexpr (kKind == MmaKind::kS8U8) HLO_MMA_INTEGERS_8("s8.u8", row, word);
      if constexpr (kKind == MmaKind::kU8S8) HLO_MMA_INTEGERS_8("u8.s8", row, word);
      if constexpr (kKind == MmaKind::kU8U8) HLO_MMA_INTEGERS_8("u8.u8", row, word);
    }
  }
#endif
}

template <MmaKind kKind>
HLO_DEVICE void Mma(DeviceEnv&, MmaD* d, const MmaA& a, const MmaB& b) {
  if constexpr (kKind == MmaKind::kBF16 || kKind == MmaKind::kF16 || kKind == MmaKind::kTF32) {
    MmaFloats<kKind>(d, a, b);
  } else {
    MmaIntegers<kKind>(d, a, b);
  }
}

// Loads four matrices of 8 rows of 16 bytes (ldmatrix): lane i provides the address of row i % 8 of matrix i
// / 8 and receives word q of row g of each. Transposed: elements (2q, g) and (2q + 1, g) of each 16-bit
// matrix.
template <bool kMnMajor>
HLO_DEVICE MmaA LoadMatrices(DeviceEnv&, const void* row) {
  MmaA m{};
#ifdef __CUDA_ARCH__
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (kMnMajor)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];"
                 : "=r"(m.x[0]), "=r"(m.x[1]), "=r"(m.x[2]), "=r"(m.x[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
                 : "=r"(m.x[0]), "=r"(m.x[1]), "=r"(m.x[2]), "=r"(m.x[3])
                 : "r"(address)
                 : "memory");
#endif
  return m;
}

#endif  // __CUDACC__

// Returns term `x` of 32 bytes of terms.
template <MmaKind kKind>
HLO_DEVICE double TermOfWords(const uint32_t* words, int x, bool is_a) {
  if constexpr (kKind == MmaKind::kTF32) {
    return FloatOfBits(words[x] & 0xffffe000u);
  } else if constexpr (kKind == MmaKind::kBF16 || kKind == MmaKind::kF16) {
    const auto bits = static_cast<uint16_t>(words[x / 2] >> (x % 2 * 16));
    return kKind == MmaKind::kBF16 ? BF16ToFloat(bits) : F16ToFloat(bits);
  } else {
    const auto byte = static_cast<uint8_t>(words[x / 4] >> (x % 4 * 8));
    const bool is_signed = is_a ? kKind == MmaKind::kS8S8 || kKind == MmaKind::kS8U8
                                : kKind == MmaKind::kS8S8 || kKind == MmaKind::kU8S8;
    return is_signed ? static_cast<double>(static_cast<int8_t>(byte)) : static_cast<double>(byte);
  }
}

// Returns the value that lane `lane` published in an exchange.
template <class T>
T PublishedBy(const std::byte* lanes, int lane) {
  T value;
  __builtin_memcpy(&value, lanes + 16 * lane, sizeof value);
  return value;
}

// Emulated mma. Products accumulate in double and are rounded once per instruction.
template <MmaKind kKind, class Env>
HLO_DEVICE void Mma(Env& env, MmaD* d, const MmaA& a, const MmaB& b) {
  constexpr bool kInteger = kKind != MmaKind::kBF16 && kKind != MmaKind::kF16 && kKind != MmaKind::kTF32;
  constexpr int kTerms = kKind == MmaKind::kTF32 ? 8 : kInteger ? 32 : 16;
  const int lane = static_cast<int>(env.thread() % kWarpSize), g = lane / 4, q = lane % 4;
  uint32_t rows[2][8], columns[2][8];
  const std::byte* lanes = env.exchange(a);
  for (int i = 0; i < 4; ++i) {
    const auto from = PublishedBy<MmaA>(lanes, 4 * g + i);
    rows[0][i] = from.x[0];
    rows[1][i] = from.x[1];
    rows[0][i + 4] = from.x[2];
    rows[1][i + 4] = from.x[3];
  }
  lanes = env.exchange(b);
  for (int i = 0; i < 4; ++i) {
    for (int c = 0; c < 2; ++c) {
      const auto other = PublishedBy<MmaB>(lanes, 4 * (2 * q + c) + i);
      columns[c][i] = other.x[0];
      columns[c][i + 4] = other.x[1];
    }
  }
  for (int i = 0; i < 4; ++i) {
    double sum = 0;
    for (int x = 0; x < kTerms; ++x)
      sum += TermOfWords<kKind>(rows[i / 2], x, true) * TermOfWords<kKind>(columns[i % 2], x, false);
    if constexpr (kInteger)
      d->x[i] += static_cast<uint32_t>(static_cast<int64_t>(sum));
    else
      d->x[i] = BitsOfFloat(static_cast<float>(static_cast<double>(FloatOfBits(d->x[i])) + sum));
  }
}

template <bool kMnMajor, class Env>
HLO_DEVICE MmaA LoadMatrices(Env& env, const void* row) {
  const int lane = static_cast<int>(env.thread() % kWarpSize), g = lane / 4, q = lane % 4;
  const std::byte* addresses = env.exchange(row);
  MmaA m{};
  for (int i = 0; i < 4; ++i) {
    if constexpr (kMnMajor) {
      for (int half = 0; half < 2; ++half) {
        const auto* from = PublishedBy<const uint16_t*>(addresses, 8 * i + 2 * q + half);
        m.x[i] |= static_cast<uint32_t>(from[g]) << (16 * half);
      }
    } else {
      m.x[i] = PublishedBy<const uint32_t*>(addresses, 8 * i + g)[q];
    }
  }
  return m;
}

}  // namespace hlo::cuda
