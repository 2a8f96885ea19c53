#pragma once
// This file defines the loops behind tile_ops.h, for the files that instantiate them.

#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/vectorize.h"
#include "kernels/cpu/elementwise/tile_ops.h"
#include "kernels/cpu/simd/small_float_codes.h"
#include "types/dispatch.h"
#include "types/scalar_ops.h"

namespace hlo::cpu {

// `out` aliases one of the inputs exactly or overlaps none, so that iterations are independent.
template <class F, class T>
void UnaryLoop(int64_t n, void* out, const void* const* in, int64_t parameter) {
  const F f = scalar::ForBits<F>(static_cast<int>(parameter));
  const T* a = static_cast<const T*>(in[0]);
  auto* o = static_cast<decltype(f(*a))*>(out);
  HLO_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) o[i] = f(a[i]);
}

template <class F, class T>
void BinaryLoop(int64_t n, void* out, const void* const* in, int64_t parameter) {
  const F f = scalar::ForBits<F>(static_cast<int>(parameter));
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  auto* o = static_cast<decltype(f(*a, *b))*>(out);
  HLO_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) o[i] = f(a[i], b[i]);
}

template <class F, class T>
void TernaryLoop(int64_t n, void* out, const void* const* in, int64_t parameter) {
  const F f = scalar::ForBits<F>(static_cast<int>(parameter));
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]),
          *c = static_cast<const T*>(in[2]);
  auto* o = static_cast<decltype(f(*a, *b, *c))*>(out);
  HLO_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) o[i] = f(a[i], b[i], c[i]);
}

template <class F, class T>
constexpr TileFn LoopOf() {
  if constexpr (std::is_invocable_v<F, T>)
    return &UnaryLoop<F, T>;
  else if constexpr (std::is_invocable_v<F, T, T>)
    return &BinaryLoop<F, T>;
  else if constexpr (std::is_invocable_v<F, T, T, T>)
    return &TernaryLoop<F, T>;
  else
    return nullptr;
}

// An operation on floats whose result is rounded to bf16.
template <class F>
struct BF16Operation {
  template <class... T>
  requires std::is_invocable_r_v<float, F, T...>
  float operator()(T... a) const { return RoundToBF16(F()(a...)); }
};

// Computes f32 and c64 in f64 with one final rounding, for operations that are not exact in single precision.
template <class F>
struct ThroughF64 {
  int bits = 0;
  template <class T>
  static auto Widen(T a) {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<double>(a);
    else
      return std::complex<double>(a);
  }
  template <class W>
  static auto Narrow(W a) {
    if constexpr (std::is_same_v<W, double>)
      return static_cast<float>(a);
    else if constexpr (std::is_same_v<W, bool>)
      return a;
    else
      return std::complex<float>(a);
  }
  template <class T, class... More>
  requires std::is_invocable_v<F, decltype(Widen(T{})), decltype(Widen(More{}))...>
  auto operator()(T a, More... more) const {
    return Narrow(scalar::ForBits<F>(bits)(Widen(a), Widen(more)...));
  }
};

// Returns the loop of a scalar opcode's function object on type T, or nullptr if it has none.
template <class F, class T, ScalarPrecision kPrecision>
constexpr TileFn ScalarLoopOf() {
  constexpr bool kWidens = (std::is_same_v<T, float> && kPrecision == ScalarPrecision::kDouble) ||
                           (std::is_same_v<T, std::complex<float>> && kPrecision != ScalarPrecision::kNative);
  if constexpr (kWidens)
    return LoopOf<ThroughF64<F>, T>();
  else
    return LoopOf<F, T>();
}

template <class T>
inline constexpr bool kIsSmallFloat = requires {
  T::format();
};

template <class F>
TileFn OfSmallFloat(ElementType type, F&& f) {
  return DispatchType(type, [&]<ElementType kType>() -> TileFn {
    if constexpr (kIsSmallFloat<Native<kType>>)
      return f.template operator()<kType>();
    else
      return nullptr;
  });
}

struct Bytes16 {
  uint64_t halves[2];
};

// Calls f.template operator()<T>() with a type of `width` bytes.
template <class F>
void DispatchWidth(int64_t width, F&& f) {
  switch (width) {
    case 1:
      return f.template operator()<uint8_t>();
    case 2:
      return f.template operator()<uint16_t>();
    case 4:
      return f.template operator()<uint32_t>();
    case 8:
      return f.template operator()<uint64_t>();
    default:
      return f.template operator()<Bytes16>();
  }
}

// Return the operation of a type family, or nullptr.
TileFn IntegerTileOp(Opcode opcode, ComputeType compute_type);
TileFn FloatTileOp(Opcode opcode, ComputeType compute_type);
TileFn ComplexTileOp(Opcode opcode, ComputeType compute_type);
// Returns a function of complex numbers whose parts are computed by vectors, or nullptr. c128 results differ
// from those of ComplexTileOp by a few ULP of the modulus.
TileFn ComplexBlockOp(Opcode opcode, ComputeType compute_type);
// Returns the exact quotients or remainders of vectors, or nullptr if the target has none for the type.
TileFn VectorDivisionOf(Opcode opcode, ComputeType compute_type);
// Returns the maximum or minimum of vectors of f64, with the bits of scalar::Maximum and scalar::Minimum;
// nullptr for other operations and types.
TileFn VectorExtremeOf(Opcode opcode, ComputeType compute_type);
// Returns a vector function of the C library (libmvec), or nullptr if the target has none.
TileFn VectorTileOp(Opcode opcode, ComputeType compute_type);
// Return the functions of loops::Operation kinds that only FindTileCall uses.
TileCall FindTileBits(ElementType from, ElementType to);
TileCall FindTileStochasticConvert(ElementType from, ElementType to, int64_t random_bits);
// Copies n elements of `width` bytes.
void CopyBits(int64_t n, void* out, const void* const* in, int64_t width);

}  // namespace hlo::cpu
