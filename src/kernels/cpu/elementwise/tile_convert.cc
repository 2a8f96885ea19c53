// This file implements tile conversions between types.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "kernels/cpu/elementwise/tile_loops.h"
#include "types/dispatch.h"

namespace hlo::cpu {
namespace {

template <class T>
inline constexpr bool kIsComplex = !std::is_arithmetic_v<T>;

// Converts like the reference (semantics 2.1 to 2.3); `bits` is the width of an integer result.
template <class From, class To>
To ConvertOne(From value, int bits) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (kIsComplex<From>) {
    return To(value);
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<typename To::value_type>(value), 0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_signed_v<To>)
      return static_cast<To>(scalar::ToSigned(value, bits));
    else
      return static_cast<To>(scalar::ToUnsigned(value, bits));
  } else {
    return static_cast<To>(value);
  }
}

// Loops over bool do not vectorise, unlike those over its bytes.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class From, class To>
void ConvertLoop(int64_t n, void* out, const void* const* in, int64_t bits) {
  const auto* a = static_cast<const Stored<From>*>(in[0]);
  To* o = static_cast<To*>(out);
  HLO_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) o[i] = ConvertOne<Stored<From>, To>(a[i], static_cast<int>(bits));
}

// The bounds and every s32 are exact in f64.
void F32ToS32(int64_t n, void* out, const void* const* in, int64_t) {
  const float* a = static_cast<const float*>(in[0]);
  auto* o = static_cast<int32_t*>(out);
  for (int64_t i = 0; i < n; ++i) {
    double x = a[i];
    x = x > -2147483648.0 ? x : -2147483648.0;
    x = x < 2147483647.0 ? x : 2147483647.0;
    const auto converted = static_cast<int32_t>(x);
    o[i] = a[i] == a[i] ? converted : 0;
  }
}

// The bounds are exact in f32.
template <class To>
void F32ToNarrow(int64_t n, void* out, const void* const* in, int64_t bits) {
  const float* a = static_cast<const float*>(in[0]);
  To* o = static_cast<To*>(out);
  const int32_t range = (int32_t{1} << (std::is_signed_v<To> ? bits - 1 : bits)) - 1;
  const auto high = static_cast<float>(range), low = std::is_signed_v<To> ? -high - 1 : 0.0F;
  HLO_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    float x = a[i] == a[i] ? a[i] : 0.0F;
    x = x > low ? x : low;
    x = x < high ? x : high;
    o[i] = static_cast<To>(static_cast<int32_t>(x));
  }
}

// Conversions from f64 to floats of at most 8 bits round once.
template <ElementType kType>
void RoundFromF64(int64_t n, void* out, const void* const* in, int64_t) {
  const double* a = static_cast<const double*>(in[0]);
  float* o = static_cast<float*>(out);
  for (int64_t i = 0; i < n; ++i) o[i] = Native<kType>::FromDouble(a[i]).ToFloat();
}

// Converts to signed integers of `parameter` >> 8 bits, with random numbers of `parameter` & 0xff bits.
template <class From, class Random, class To>
void StochasticLoop(int64_t n, void* out, const void* const* in, int64_t parameter) {
  const From* a = static_cast<const From*>(in[0]);
  const Random* random = static_cast<const Random*>(in[1]);
  To* o = static_cast<To*>(out);
  const auto bits = static_cast<int>(parameter >> 8), random_bits = static_cast<int>(parameter & 0xff);
  for (int64_t i = 0; i < n; ++i)
    o[i] = static_cast<To>(scalar::StochasticConvert(a[i], random[i], random_bits, bits));
}

}  // namespace

TileCall FindTileConvert(ElementType from, ElementType to) {
  const ComputeType a = ComputeTypeOf(from), b = ComputeTypeOf(to);
  if (from == ElementType::kF64 && BitWidth(to) <= 8) {
    if (const TileFn f = OfSmallFloat(to, []<ElementType kType>() -> TileFn { return &RoundFromF64<kType>; }))
      return {f};
  }
  if (a == ComputeType::kF32 && to == ElementType::kS32) return {&F32ToS32};
  const TileFn f = DispatchComputeType(a, [&]<class From>() -> TileFn {
    return DispatchComputeType(b, []<class To>() -> TileFn {
      constexpr bool is_narrow = std::is_integral_v<To> && sizeof(To) <= 2 && !std::is_same_v<To, bool>;
      if constexpr (kIsComplex<From> && !kIsComplex<To> && !std::is_same_v<To, bool>)
        return nullptr;
      else if constexpr (std::is_same_v<From, float> && is_narrow)
        return &F32ToNarrow<To>;
      else
        return &ConvertLoop<From, To>;
    });
  });
  return {f, BitWidth(to)};
}

TileCall FindTileBits(ElementType from, ElementType to) {
  // A bf16 and its compute type hold the same value.
  if (from == ElementType::kBF16) return StoreRoundedTile(from);
  if (to == ElementType::kBF16) return LoadTile(to);
  return {&CopyBits, BitWidth(from) / 8};
}

TileCall FindTileStochasticConvert(ElementType from, ElementType to, int64_t random_bits) {
  const ComputeType random = random_bits <= 8    ? ComputeType::kU8
                             : random_bits == 16 ? ComputeType::kU16
                             : random_bits == 32 ? ComputeType::kU32
                                                 : ComputeType::kU64;
  const TileFn f = DispatchComputeType(ComputeTypeOf(from), [&]<class From>() -> TileFn {
    return DispatchComputeType(random, [&]<class Random>() -> TileFn {
      return DispatchComputeType(ComputeTypeOf(to), []<class To>() -> TileFn {
        constexpr bool has_meaning = std::is_floating_point_v<From> && std::is_unsigned_v<Random> &&
                                     !std::is_same_v<Random, bool> && std::is_integral_v<To> &&
                                     std::is_signed_v<To>;
        if constexpr (has_meaning)
          return &StochasticLoop<From, Random, To>;
        else
          return nullptr;
      });
    });
  });
  return {f, BitWidth(to) << 8 | random_bits};
}

namespace {

template <class T>
void FillIotaOf(int64_t n, T* out, int64_t start, int64_t step) {
  // Positions fit into 32 bits except in very large arrays; 32-bit conversions vectorise.
  constexpr int64_t kHalf = std::numeric_limits<int32_t>::max() / 2;
  if (std::abs(start) <= kHalf && std::abs(n * step) <= kHalf) {
    const auto first = static_cast<int32_t>(start), by = static_cast<int32_t>(step);
    for (int32_t i = 0; i < static_cast<int32_t>(n); ++i) out[i] = ConvertOne<int32_t, T>(first + i * by, 64);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = ConvertOne<int64_t, T>(start + i * step, 64);
  }
}

constexpr int kStartBits = 32;
template <class T>
void IotaLoop(int64_t n, void* out, const void* const* /*in*/, int64_t parameter) {
  FillIotaOf(n, static_cast<T*>(out), parameter >> kStartBits, static_cast<int32_t>(parameter));
}

}  // namespace

void FillIota(ComputeType compute_type, int64_t n, void* out, int64_t start, int64_t step) {
  DispatchComputeType(compute_type, [&]<class T>() { FillIotaOf(n, static_cast<T*>(out), start, step); });
}

TileCall IotaTile(ComputeType compute_type, int32_t start, int32_t step) {
  const TileFn function = DispatchComputeType(compute_type, []<class T>() -> TileFn { return &IotaLoop<T>; });
  const uint64_t parameter =
      uint64_t{static_cast<uint32_t>(start)} << kStartBits | static_cast<uint32_t>(step);
  return {function, static_cast<int64_t>(parameter)};
}

}  // namespace hlo::cpu
