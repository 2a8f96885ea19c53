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

template <class From, class To>
void ConvertLoop(int64_t n, void* out, const void* const* in, int64_t bits) {
  const From* a = static_cast<const From*>(in[0]);
  To* o = static_cast<To*>(out);
  for (int64_t i = 0; i < n; ++i) o[i] = ConvertOne<From, To>(a[i], static_cast<int>(bits));
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
  const Lane a = LaneOf(from), b = LaneOf(to);
  const TileSymbol symbol{.kind = TileSymbol::Kind::kConvert, .from = from, .to = to};
  if (from == ElementType::kF64 && BitWidth(to) <= 8) {
    if (const TileFn f = OfSmallFloat(to, []<ElementType kType>() -> TileFn { return &RoundFromF64<kType>; }))
      return {f, 0, symbol};
  }
  if (a == Lane::kF32 && to == ElementType::kS32) return {&F32ToS32, 0, symbol};
  const TileFn f = DispatchLane(a, [&]<class From>() -> TileFn {
    return DispatchLane(b, []<class To>() -> TileFn {
      if constexpr (kIsComplex<From> && !kIsComplex<To> && !std::is_same_v<To, bool>)
        return nullptr;
      else
        return &ConvertLoop<From, To>;
    });
  });
  return {f, BitWidth(to), symbol};
}

TileCall FindTileBitcast(ElementType from, ElementType to) {
  const int64_t width = BitWidth(from);
  const TileSymbol symbol{.kind = TileSymbol::Kind::kBits, .from = from, .to = to};
  const auto as_bits = [&](TileCall call) { return TileCall{call.function, call.parameter, symbol}; };
  // A pred is stored as a byte that is 0 or 1.
  if ((IsPred(from) && BitWidth(to) == 8 && IsIntegral(to)) || (IsPred(to) && width == 8 && IsIntegral(from)))
    return FindTileConvert(from, to);
  if (width < 8 && width == BitWidth(to) && IsIntegral(from) && IsIntegral(to)) return RoundTile(to);
  // A bf16 and its lane hold the same value.
  if (from == ElementType::kBF16 && width == BitWidth(to) && IsStoredAsLane(to))
    return as_bits(StoreRoundedTile(from));
  if (to == ElementType::kBF16 && width == BitWidth(to) && IsStoredAsLane(from)) return as_bits(LoadTile(to));
  if (width != BitWidth(to) || width < 8 || !IsStoredAsLane(from) || !IsStoredAsLane(to)) return {};
  return {&CopyBits, width / 8, symbol};
}

TileCall FindTileStochasticConvert(ElementType from, ElementType random, ElementType to) {
  const TileFn f = DispatchLane(LaneOf(from), [&]<class From>() -> TileFn {
    return DispatchLane(LaneOf(random), [&]<class Random>() -> TileFn {
      return DispatchLane(LaneOf(to), []<class To>() -> TileFn {
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
  const TileSymbol symbol{.kind = TileSymbol::Kind::kStochastic, .from = from, .to = to};
  return {f, BitWidth(to) << 8 | BitWidth(random), symbol};
}

void FillIota(Lane lane, int64_t n, void* out, int64_t start, int64_t step) {
  DispatchLane(lane, [&]<class T>() {
    T* o = static_cast<T*>(out);
    // Positions fit into 32 bits except in very large arrays; 32-bit conversions vectorise.
    constexpr int64_t kHalf = std::numeric_limits<int32_t>::max() / 2;
    if (std::abs(start) <= kHalf && std::abs(n * step) <= kHalf) {
      const auto first = static_cast<int32_t>(start), by = static_cast<int32_t>(step);
      for (int32_t i = 0; i < static_cast<int32_t>(n); ++i) o[i] = ConvertOne<int32_t, T>(first + i * by, 64);
    } else {
      for (int64_t i = 0; i < n; ++i) o[i] = ConvertOne<int64_t, T>(start + i * step, 64);
    }
  });
}

}  // namespace hlo::cpu
