#pragma once
// The values of the interpreter of vm32.h, and their loads, stores and rounding.

#include <type_traits>

#include "kernels/cuda/intrinsics/halves.h"
#include "kernels/cuda/memory/walks.h"
#include "kernels/cuda/vm/vm32.h"
#include "kernels/cuda/vm/vm_memory_body.h"

namespace hlo::cuda {

constexpr uint32_t kVm32Threads = 256;
// Adjacent values of a thread.
constexpr int kVm32Width = 4;

struct alignas(16) Vm32Vector {
  uint32_t x[kVm32Width];
};

HLO_DEVICE float F32OfBits(uint32_t bits) { return std::bit_cast<float>(bits); }
HLO_DEVICE uint32_t BitsOfF32(float value) { return std::bit_cast<uint32_t>(value); }

// Rounds two values to bf16; the first becomes the low half of the word.
HLO_DEVICE uint32_t BF16PairOf(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0,%1,%2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return FloatToBF16(low) | static_cast<uint32_t>(FloatToBF16(high)) << 16;
#endif
}

// The larger or smaller value, or NaN if one of them is. Zeros of both signs count as -0 < +0.
template <bool kLarger>
HLO_DEVICE float Vm32Extreme(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  float extreme;
  if constexpr (kLarger)
    asm("max.NaN.f32 %0,%1,%2;" : "=f"(extreme) : "f"(a), "f"(b));
  else
    asm("min.NaN.f32 %0,%1,%2;" : "=f"(extreme) : "f"(a), "f"(b));
  return extreme;
#else
  return std::conditional_t<kLarger, scalar::Maximum, scalar::Minimum>()(a, b);
#endif
}
HLO_DEVICE float Vm32Maximum(float a, float b) { return Vm32Extreme<true>(a, b); }
HLO_DEVICE float Vm32Minimum(float a, float b) { return Vm32Extreme<false>(a, b); }
HLO_DEVICE int32_t Vm32SignedOf(float value) {
#ifdef __CUDA_ARCH__
  return __float2int_rz(value);  // Saturates; NaN gives 0.
#else
  return static_cast<int32_t>(scalar::ToSigned(static_cast<double>(value), 32));
#endif
}
HLO_DEVICE uint32_t Vm32UnsignedOf(float value) {
#ifdef __CUDA_ARCH__
  return __float2uint_rz(value);
#else
  return static_cast<uint32_t>(scalar::ToUnsigned(static_cast<double>(value), 32));
#endif
}

// Returns the offset that the run-time starts of an access add.
template <class Program>
HLO_DEVICE int64_t Vm32StartOf(const Program& program, const Vm32Access& access) {
  int64_t sum = 0;
  HLO_ROLLED
  for (int s = access.start_first; s < access.start_first + access.start_count; ++s) {
    const Vm32Start& start = program.starts[s];
    int64_t value = ReadIndex(start.data, start.byte_count, start.is_signed, 0);
    value = value < 0 ? 0 : value;
    sum += (value > start.max ? start.max : value) * start.stride;
  }
  return sum;
}
template <class Program>
HLO_DEVICE bool Vm32Drops(const Program& program, const Vm32Access& access) {
  HLO_ROLLED
  for (int s = access.start_first; s < access.start_first + access.start_count; ++s) {
    const Vm32Start& start = program.starts[s];
    const int64_t value = ReadIndex(start.data, start.byte_count, start.is_signed, 0);
    if (value < 0 || value > start.max) return true;
  }
  return false;
}

// Returns the sum of the position's indices times the strides of the access.
template <class Program>
HLO_DEVICE int64_t Vm32Offset(const Program& program, const Vm32Access& access, uint32_t position) {
  int64_t at = 0;
  HLO_ROLLED
  for (int d = program.rank - 1; d >= 0; --d) {
    const FastDiv& dim = program.dims[d];
    const uint32_t quotient = dim.Quotient(position);
    at += static_cast<int64_t>(position - quotient * dim.divisor) * program.strides[access.strides + d];
    position = quotient;
  }
  return at;
}

// The element of the first value of a vector.
template <class Program>
HLO_DEVICE int64_t Vm32VectorOffset(const Program& program, const Vm32Access& access, uint32_t position) {
  switch (access.kind) {
    case Vm32Kind::kDense:
      return position;
    case Vm32Kind::kScalar:
      return 0;
    case Vm32Kind::kLast: {
      const FastDiv& dim = program.dims[program.rank - 1];
      return position - dim.Quotient(position) * dim.divisor;
    }
    default:
      return Vm32Offset(program, access, position);
  }
}
HLO_DEVICE bool IsSplat(Vm32Kind kind) { return kind == Vm32Kind::kScalar || kind == Vm32Kind::kRows; }

// The positions of a thread: vector u begins at first + u * step. Positions from `count` on do not exist.
struct Vm32Positions {
  uint32_t first, count, step;

  HLO_DEVICE uint32_t Of(int u) const { return first + static_cast<uint32_t>(u) * step; }
  // The number of values of a vector that are positions of the loop; may exceed the width.
  HLO_DEVICE int Left(int u) const { return static_cast<int>(count - Of(u)); }
};

template <class T, int kVectors>
HLO_DEVICE void Vm32Read(const Vm32Access& access, bool vectors, const int64_t (&at)[kVectors],
                         Vm32Positions positions, Vm32Vector (&values)[kVectors]) {
  const bool splat = IsSplat(access.kind);
  HLO_UNROLL
  for (int u = 0; u < kVectors; ++u) {
    const T* from = static_cast<const T*>(access.data) + at[u];
    const int left = positions.Left(u);
    if (splat) {
      if (left <= 0) continue;
      const uint32_t value = *from;
      HLO_UNROLL
      for (int j = 0; j < kVm32Width; ++j) values[u].x[j] = value;
    } else if (vectors && left >= kVm32Width) {
      const auto all = *reinterpret_cast<const VmNeighbours<T, kVm32Width>*>(from);
      HLO_UNROLL
      for (int j = 0; j < kVm32Width; ++j) values[u].x[j] = all.x[j];
    } else {
      HLO_UNROLL
      for (int j = 0; j < kVm32Width; ++j) {
        if (j < left) values[u].x[j] = from[j];
      }
    }
  }
}

template <class T, int kVectors>
HLO_DEVICE void Vm32Write(const Vm32Access& access, bool vectors, const int64_t (&at)[kVectors],
                          Vm32Positions positions, const Vm32Vector (&values)[kVectors]) {
  HLO_UNROLL
  for (int u = 0; u < kVectors; ++u) {
    T* to = static_cast<T*>(access.data) + at[u];
    const int left = positions.Left(u);
    if (vectors && left >= kVm32Width) {
      VmNeighbours<T, kVm32Width> all;
      HLO_UNROLL
      for (int j = 0; j < kVm32Width; ++j) all.x[j] = static_cast<T>(values[u].x[j]);
      *reinterpret_cast<VmNeighbours<T, kVm32Width>*>(to) = all;
    } else {
      HLO_UNROLL
      for (int j = 0; j < kVm32Width; ++j) {
        if (j < left) to[j] = static_cast<T>(values[u].x[j]);
      }
    }
  }
}

template <int kVectors, class F>
HLO_DEVICE void Vm32Map(Vm32Vector (&values)[kVectors], F&& f) {
  HLO_UNROLL
  for (int u = 0; u < kVectors; ++u) {
    HLO_UNROLL
    for (int j = 0; j < kVm32Width; ++j) values[u].x[j] = f(values[u].x[j]);
  }
}

// Converts elements, zero-extended to words, to values.
template <int kVectors>
HLO_DEVICE void Vm32Decode(VmMemory memory, Vm32Vector (&values)[kVectors]) {
  switch (memory) {
    case VmMemory::kS8:
      return Vm32Map(values, [](uint32_t x) { return static_cast<uint32_t>(static_cast<int8_t>(x)); });
    case VmMemory::kS16:
      return Vm32Map(values, [](uint32_t x) { return static_cast<uint32_t>(static_cast<int16_t>(x)); });
    case VmMemory::kBF16:
      return Vm32Map(values, [](uint32_t x) { return x << 16; });
    case VmMemory::kF16:
      return Vm32Map(values, [](uint32_t x) { return BitsOfF32(FloatOfF16(static_cast<uint16_t>(x))); });
    default:
      return;
  }
}

HLO_DEVICE uint32_t Vm32Size(VmMemory memory) {
  switch (memory) {
    case VmMemory::kU8:
    case VmMemory::kS8:
      return 1;
    case VmMemory::k4:
      return 4;
    default:
      return 2;
  }
}

template <int kVectors, bool kStridedAccesses, class Program>
HLO_DEVICE void Vm32Load(const Program& program, const Vm32Access& access, Vm32Positions positions,
                         Vm32Vector (&values)[kVectors]) {
  const int64_t start = access.offset + Vm32StartOf(program, access);
  const bool vectors = access.vectors && (access.start_count == 0 || start % kVm32Width == 0);
  const uint32_t size = Vm32Size(access.memory);
  if constexpr (kStridedAccesses) {
    if (access.kind == Vm32Kind::kStrided) {
      HLO_UNROLL
      for (int u = 0; u < kVectors; ++u) {
        HLO_UNROLL
        for (int j = 0; j < kVm32Width; ++j) {
          if (j >= positions.Left(u)) continue;
          const int64_t at = start + Vm32Offset(program, access, positions.Of(u) + static_cast<uint32_t>(j));
          values[u].x[j] = size == 4   ? static_cast<const uint32_t*>(access.data)[at]
                           : size == 2 ? static_cast<const uint16_t*>(access.data)[at]
                                       : static_cast<const uint8_t*>(access.data)[at];
        }
      }
      return Vm32Decode(access.memory, values);
    }
  }
  int64_t at[kVectors];
  HLO_UNROLL
  for (int u = 0; u < kVectors; ++u) at[u] = start + Vm32VectorOffset(program, access, positions.Of(u));
  switch (size) {
    case 1:
      Vm32Read<uint8_t>(access, vectors, at, positions, values);
      break;
    case 2:
      Vm32Read<uint16_t>(access, vectors, at, positions, values);
      break;
    default:
      return Vm32Read<uint32_t>(access, vectors, at, positions, values);
  }
  Vm32Decode(access.memory, values);
}

template <int kVectors, bool kStridedAccesses, class Program>
HLO_DEVICE void Vm32Store(const Program& program, const Vm32Access& access, Vm32Positions positions,
                          const Vm32Vector (&values)[kVectors]) {
  if (access.drops && Vm32Drops(program, access)) return;
  const int64_t start = access.offset + Vm32StartOf(program, access);
  const bool vectors = access.vectors && (access.start_count == 0 || start % kVm32Width == 0);
  const uint32_t size = Vm32Size(access.memory);
  Vm32Vector coded[kVectors];
  HLO_UNROLL
  for (int u = 0; u < kVectors; ++u) coded[u] = values[u];
  if (access.memory == VmMemory::kBF16) {
    if (access.rounded) {
      Vm32Map(coded, [](uint32_t x) { return x >> 16; });
    } else {
      HLO_UNROLL
      for (int u = 0; u < kVectors; ++u) {
        HLO_UNROLL
        for (int j = 0; j < kVm32Width; j += 2) {
          const uint32_t pair = BF16PairOf(F32OfBits(coded[u].x[j]), F32OfBits(coded[u].x[j + 1]));
          coded[u].x[j] = pair & 0xffffu;
          coded[u].x[j + 1] = pair >> 16;
        }
      }
    }
  } else if (access.memory == VmMemory::kF16) {
    Vm32Map(coded, [](uint32_t x) { return static_cast<uint32_t>(F16Of(F32OfBits(x))); });
  }
  if constexpr (kStridedAccesses) {
    if (access.kind == Vm32Kind::kStrided) {
      HLO_UNROLL
      for (int u = 0; u < kVectors; ++u) {
        HLO_UNROLL
        for (int j = 0; j < kVm32Width; ++j) {
          if (j >= positions.Left(u)) continue;
          const int64_t at = start + Vm32Offset(program, access, positions.Of(u) + static_cast<uint32_t>(j));
          if (size == 4)
            static_cast<uint32_t*>(access.data)[at] = coded[u].x[j];
          else if (size == 2)
            static_cast<uint16_t*>(access.data)[at] = static_cast<uint16_t>(coded[u].x[j]);
          else
            static_cast<uint8_t*>(access.data)[at] = static_cast<uint8_t>(coded[u].x[j]);
        }
      }
      return;
    }
  }
  int64_t at[kVectors];
  HLO_UNROLL
  for (int u = 0; u < kVectors; ++u) at[u] = start + Vm32VectorOffset(program, access, positions.Of(u));
  switch (size) {
    case 1:
      return Vm32Write<uint8_t>(access, vectors, at, positions, coded);
    case 2:
      return Vm32Write<uint16_t>(access, vectors, at, positions, coded);
    default:
      return Vm32Write<uint32_t>(access, vectors, at, positions, coded);
  }
}

// Integers that depend on the position.
template <int kVectors, bool kStridedAccesses, class Program>
HLO_DEVICE void Vm32Iota(const Program& program, const Vm32Access& access, VmType type,
                         Vm32Positions positions, Vm32Vector (&values)[kVectors]) {
  const int64_t start = access.offset + Vm32StartOf(program, access);
  const int step = IsSplat(access.kind) ? 0 : 1;
  HLO_UNROLL
  for (int u = 0; u < kVectors; ++u) {
    const int64_t first = start + Vm32VectorOffset(program, access, positions.Of(u));
    HLO_UNROLL
    for (int j = 0; j < kVm32Width; ++j) {
      int64_t at = first + step * j;
      if constexpr (kStridedAccesses) {
        if (access.kind == Vm32Kind::kStrided)
          at = start + Vm32Offset(program, access, positions.Of(u) + static_cast<uint32_t>(j));
      }
      values[u].x[j] = type == VmType::kF32 ? BitsOfF32(static_cast<float>(at)) : static_cast<uint32_t>(at);
    }
  }
}

template <int kVectors>
HLO_DEVICE void Vm32Round(Vm32Rounding rounding, Vm32Vector (&values)[kVectors]) {
  if (rounding == Vm32Rounding::kBF16) {
    HLO_UNROLL
    for (int u = 0; u < kVectors; ++u) {
      HLO_UNROLL
      for (int j = 0; j < kVm32Width; j += 2) {
        const uint32_t pair = BF16PairOf(F32OfBits(values[u].x[j]), F32OfBits(values[u].x[j + 1]));
        values[u].x[j] = pair << 16;
        values[u].x[j + 1] = pair & 0xffff0000u;
      }
    }
  } else if (rounding == Vm32Rounding::kF16) {
    Vm32Map(values, [](uint32_t x) { return BitsOfF32(FloatOfF16(F16Of(F32OfBits(x)))); });
  }
}

}  // namespace hlo::cuda
