// This file implements vectorised transcendental functions, our own and glibc's (at most 4 ULP), and exact
// remainders.

#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/simd/padded_load.h"
#include "kernels/cpu/simd/vector_functions.h"
#include "kernels/cpu/simd/vector_power.h"
#include "kernels/cpu/simd/vector_remainder.h"

namespace hlo::cpu {
namespace {

template <class V>
V Read(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// Returns the first n elements, n < the number of lanes, and ones, for which every function is defined. Wide
// loads of elements that were stored one by one would wait for these stores.
template <class V, class T>
V FirstAndOnes(const T* from, int64_t n) {
  if (n == 1) return PaddedWithOnes<V>(from[0]);
  if constexpr (std::is_same_v<V, Vector<T>>) {
    return LoadFirstOr(from, static_cast<int>(n), V{} + T{1});
  } else {
    V v = V{} + T{1};
    std::memcpy(&v, from, n * sizeof(T));
    return v;
  }
}
template <class V, class T>
void StoreFirstOf(T* to, V v, int64_t n) {
  if constexpr (std::is_same_v<V, Vector<T>>)
    StoreFirst(to, v, static_cast<int>(n));
  else
    std::memcpy(to, &v, n * sizeof(T));
}

// Processes full vectors, then the rest.
template <class V, class T, class F>
void VectorLoop2(int64_t n, void* out, const void* const* in, F f) {
  constexpr int64_t kWidth = sizeof(V) / sizeof(T);
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  T* o = static_cast<T*>(out);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const V v = f(Read<V>(a + i), Read<V>(b + i));
    std::memcpy(o + i, &v, sizeof v);
  }
  if (i < n) StoreFirstOf(o + i, f(FirstAndOnes<V>(a + i, n - i), FirstAndOnes<V>(b + i, n - i)), n - i);
}

// Processes full vectors; the tail is padded with ones.
template <class F>
void VectorLoop1(int64_t n, void* out, const void* const* in, int64_t) {
  constexpr int64_t kWidth = kLanes<float>;
  const auto* a = static_cast<const float*>(in[0]);
  auto* o = static_cast<float*>(out);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) StoreVector(o + i, F()(LoadVector(a + i)));
  if (i == n) return;
  if (n - i == 1) {
    o[i] = F()(PaddedWithOnes<Vector<float>>(a[i]))[0];
    return;
  }
  float rest[kWidth];
  for (float& each : rest) each = 1;
  std::memcpy(rest, a + i, (n - i) * sizeof(float));
  StoreVector(rest, F()(LoadVector(rest)));
  std::memcpy(o + i, rest, (n - i) * sizeof(float));
}

void OwnPower(int64_t n, void* out, const void* const* in, int64_t) {
  VectorLoop2<Vector<float>, float>(n, out, in,
                                    [](Vector<float> x, Vector<float> y) { return PowerF32(x, y); });
}

// True for the types and functions of Division.
template <class F, class T>
inline constexpr bool kIsVectorised = kFusesMulAdd &&
                                      (std::is_floating_point_v<T> ? std::is_same_v<F, scalar::Remainder>
                                                                   : std::is_integral_v<T> && sizeof(T) == 8);

// Quotients and remainders of vectors.
template <class F, class T>
struct Division {
  static Vector<T> Call(Vector<T> a, Vector<T> b) {
    if constexpr (std::is_integral_v<T>)
      return DivideIntegers<F, T>(a, b);
    else
      return RemainderOfFloats<T>(a, b);
  }
  static void Loop(int64_t n, void* out, const void* const* in, int64_t) {
    VectorLoop2<Vector<T>, T>(n, out, in, &Call);
  }
};

// Calls f with the Division of an opcode and type, if it is vectorised.
template <class F>
auto WithDivision(Opcode opcode, ComputeType compute_type, F&& f) {
  return DispatchComputeType(compute_type, [&]<class T>() {
    using Result = decltype(f(Division<scalar::Remainder, float>()));
    if constexpr (kIsVectorised<scalar::Remainder, T>) {
      if (opcode == Opcode::kRemainder) return f(Division<scalar::Remainder, T>());
    }
    if constexpr (kIsVectorised<scalar::Divide, T>) {
      if (opcode == Opcode::kDivide) return f(Division<scalar::Divide, T>());
    }
    return Result{};
  });
}

// scalar::Maximum or scalar::Minimum of vectors of f64, which compilers do not vectorise for AVX2. Equal
// numbers differ only in the sign of zero.
template <bool kLargest>
Vector<double> ExtremeOf(Vector<double> a, Vector<double> b) {
  using Words = Vector<int64_t>;
  const auto x = BitsOf<Words>(a), y = BitsOf<Words>(b);
  const auto of_equal = BitsOf<Vector<double>>(kLargest ? x & y : x | y);
  const Vector<double> ordered = (kLargest ? a > b : a < b) ? a : b;
  const Vector<double> number = a == b ? of_equal : ordered;
  return a != a ? a : number;
}
template <bool kLargest>
void ExtremeLoop(int64_t n, void* out, const void* const* in, int64_t) {
  VectorLoop2<Vector<double>, double>(n, out, in, &ExtremeOf<kLargest>);
}

TileFn OwnTileOp(Opcode opcode, ComputeType compute_type) {
  if (compute_type != ComputeType::kF32) return nullptr;
  const auto loop = []<class F>(F) -> TileFn { return &VectorLoop1<F>; };
  switch (opcode) {
    case Opcode::kExponential:
      return loop([](Vector<float> x) { return ExpF32(x); });
    case Opcode::kLogistic:
      return loop([](Vector<float> x) { return LogisticF32(x); });
    case Opcode::kTanh:
      return loop([](Vector<float> x) { return TanhF32(x); });
    default:
      break;
  }
  if constexpr (kFusesMulAdd) {
    if (opcode == Opcode::kCosine) return loop([](Vector<float> x) { return CosF32(x); });
    if (opcode == Opcode::kSine) return loop([](Vector<float> x) { return SinF32(x); });
    if (opcode == Opcode::kErf) return loop([](Vector<float> x) { return ErfF32(x); });
    if (opcode == Opcode::kLog) return loop([](Vector<float> x) { return LogF32(x); });
    if (opcode == Opcode::kLogPlusOne) return loop([](Vector<float> x) { return LogPlusOneF32(x); });
    if (opcode == Opcode::kPower) return &OwnPower;
  }
  return nullptr;
}

#if defined(HLO_AVX512_VECTORS) || defined(HLO_AVX2_VECTORS)
template <Vector<float> (*kFunction)(Vector<float>)>
Vector<float> CallOf(Vector<float> x) {
  return kFunction(x);
}
Vector<float> CallOfPower(Vector<float> x, Vector<float> y) { return PowerF32(x, y); }
const void* OwnVectorFunction(Opcode opcode) {
  const auto address = [](Vector<float> (*function)(Vector<float>)) {
    return reinterpret_cast<const void*>(function);
  };
  switch (opcode) {
    case Opcode::kExponential:
      return address(&CallOf<ExpF32>);
    case Opcode::kLogistic:
      return address(&CallOf<LogisticF32>);
    case Opcode::kTanh:
      return address(&CallOf<TanhF32>);
    case Opcode::kCosine:
      return address(&CallOf<CosF32>);
    case Opcode::kSine:
      return address(&CallOf<SinF32>);
    case Opcode::kErf:
      return address(&CallOf<ErfF32>);
    case Opcode::kPower:
      return reinterpret_cast<const void*>(&CallOfPower);
    default:
      return nullptr;
  }
}
#endif

}  // namespace

TileFn VectorDivisionOf(Opcode opcode, ComputeType compute_type) {
  return WithDivision(opcode, compute_type, [](auto d) -> TileFn { return &decltype(d)::Loop; });
}

TileFn VectorExtremeOf(Opcode opcode, ComputeType compute_type) {
  if (compute_type != ComputeType::kF64) return nullptr;
  if (opcode == Opcode::kMaximum) return &ExtremeLoop<true>;
  return opcode == Opcode::kMinimum ? &ExtremeLoop<false> : nullptr;
}

}  // namespace hlo::cpu

#if defined(__AVX2__) && defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 35)

namespace hlo::cpu {
namespace {

// The vector types of glibc's widest functions, and their names in the vector ABI (ISA, lanes, operands).
#if defined(HLO_AVX512_VECTORS)
using Floats = float __attribute__((vector_size(64)));
using Doubles = double __attribute__((vector_size(64)));
#define HLO_ONE(function) _ZGVeN8v_##function
#define HLO_TWO(function) _ZGVeN8vv_##function
#define HLO_ONE_F32(function) _ZGVeN16v_##function##f
#define HLO_TWO_F32(function) _ZGVeN16vv_##function##f
#else
using Floats = float __attribute__((vector_size(32)));
using Doubles = double __attribute__((vector_size(32)));
#define HLO_ONE(function) _ZGVdN4v_##function
#define HLO_TWO(function) _ZGVdN4vv_##function
#define HLO_ONE_F32(function) _ZGVdN8v_##function##f
#define HLO_TWO_F32(function) _ZGVdN8vv_##function##f
#endif

}  // namespace

// The opcodes that are a function of one or two operands in the vector library, and that function.
// clang-format off
#define HLO_LIBMVEC_UNARY(X)                                                                                \
  X(Acos, acos) X(Acosh, acosh) X(Asin, asin) X(Asinh, asinh) X(Atanh, atanh)                               \
  X(Cosine, cos) X(Cosh, cosh) X(Erf, erf) X(Exponential, exp) X(Exp2, exp2)                                \
  X(ExponentialMinusOne, expm1) X(Log, log) X(LogPlusOne, log1p) X(Log2, log2) X(Sine, sin)                 \
  X(Sinh, sinh) X(Tan, tan)
// clang-format on
#define HLO_LIBMVEC_BINARY(X) X(Atan2, atan2) X(Power, pow)

extern "C" {
#define HLO_DECLARE(name, function)              \
  Floats HLO_ONE_F32(function)(Floats) noexcept; \
  Doubles HLO_ONE(function)(Doubles) noexcept;
HLO_LIBMVEC_UNARY(HLO_DECLARE)
#undef HLO_DECLARE
#define HLO_DECLARE(name, function)                      \
  Floats HLO_TWO_F32(function)(Floats, Floats) noexcept; \
  Doubles HLO_TWO(function)(Doubles, Doubles) noexcept;
HLO_LIBMVEC_BINARY(HLO_DECLARE)
#undef HLO_DECLARE
}

namespace {

// Processes full vectors, then the rest.
template <class V, class T, class F>
void VectorLoop(int64_t n, void* out, const void* const* in, F f) {
  constexpr int64_t kWidth = sizeof(V) / sizeof(T);
  const T* a = static_cast<const T*>(in[0]);
  T* o = static_cast<T*>(out);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const V v = f(Read<V>(a + i));
    std::memcpy(o + i, &v, sizeof v);
  }
  if (i < n) StoreFirstOf(o + i, f(FirstAndOnes<V>(a + i, n - i)), n - i);
}

#define HLO_FUNCTION(name, function)                                                            \
  struct name {                                                                                 \
    static void F32(int64_t n, void* out, const void* const* in, int64_t) {                     \
      VectorLoop<Floats, float>(n, out, in, [](Floats x) { return HLO_ONE_F32(function)(x); }); \
    }                                                                                           \
    static void F64(int64_t n, void* out, const void* const* in, int64_t) {                     \
      VectorLoop<Doubles, double>(n, out, in, [](Doubles x) { return HLO_ONE(function)(x); });  \
    }                                                                                           \
  };
HLO_LIBMVEC_UNARY(HLO_FUNCTION)
#undef HLO_FUNCTION

struct Logistic {
  static void F32(int64_t n, void* out, const void* const* in, int64_t) {
    VectorLoop<Floats, float>(n, out, in, [](Floats x) { return 1.0f / (1.0f + HLO_ONE_F32(exp)(-x)); });
  }
  static void F64(int64_t n, void* out, const void* const* in, int64_t) {
    VectorLoop<Doubles, double>(n, out, in, [](Doubles x) { return 1.0 / (1.0 + HLO_ONE(exp)(-x)); });
  }
};
// Returns the hyperbolic tangents, with errors of at most 3 ULP. Near 0 they are x times a rational function
// of x^2, with the coefficients of the Cephes library; elsewhere they follow from the exponential.
Doubles TanhOfDoubles(Doubles x) {
  using Words = int64_t __attribute__((vector_size(sizeof(Doubles))));
  constexpr double kLeastOfExponential = 0.625;
  const Words sign = BitsOf<Words>(x) & std::numeric_limits<int64_t>::min();
  const auto magnitude = BitsOf<Doubles>(BitsOf<Words>(x) ^ sign);
  const Doubles z = magnitude * magnitude;
  const Doubles numerator =
      (-9.64399179425052238628e-1 * z - 9.92877231001918586564e1) * z - 1.61468768441708447952e3;
  const Doubles denominator =
      ((z + 1.12811678491632931402e2) * z + 2.23548839060100448583e3) * z + 4.84406305325125486048e3;
  const Doubles near = magnitude + magnitude * z * (numerator / denominator);
  const Doubles far = 1.0 - 2.0 / (HLO_ONE(exp)(magnitude + magnitude) + 1.0);
  const Doubles result = magnitude < kLeastOfExponential ? near : far;
  return BitsOf<Doubles>(BitsOf<Words>(result) | sign);
}
struct Tanh {
  static void F64(int64_t n, void* out, const void* const* in, int64_t) {
    VectorLoop<Doubles, double>(n, out, in, &TanhOfDoubles);
  }
};

#define HLO_FUNCTION(name, function)                                                              \
  struct name {                                                                                   \
    static void F32(int64_t n, void* out, const void* const* in, int64_t) {                       \
      VectorLoop2<Floats, float>(n, out, in,                                                      \
                                 [](Floats a, Floats b) { return HLO_TWO_F32(function)(a, b); }); \
    }                                                                                             \
    static void F64(int64_t n, void* out, const void* const* in, int64_t) {                       \
      VectorLoop2<Doubles, double>(n, out, in,                                                    \
                                   [](Doubles a, Doubles b) { return HLO_TWO(function)(a, b); }); \
    }                                                                                             \
  };
HLO_LIBMVEC_BINARY(HLO_FUNCTION)
#undef HLO_FUNCTION

struct Rsqrt {
  template <class T>
  T operator()(T a) const {
    return 1 / std::sqrt(a);
  }
};

}  // namespace

TileFn VectorTileOp(Opcode opcode, ComputeType compute_type) {
  if (const TileFn own = OwnTileOp(opcode, compute_type)) return own;
  const bool single = compute_type == ComputeType::kF32;
  if (!single && compute_type != ComputeType::kF64) return nullptr;
  switch (opcode) {
#define HLO_CASE(name, ...) \
  case Opcode::k##name:     \
    return single ? &name::F32 : &name::F64;
    HLO_LIBMVEC_UNARY(HLO_CASE)
    HLO_LIBMVEC_BINARY(HLO_CASE)
    HLO_CASE(Logistic)
#undef HLO_CASE
    case Opcode::kTanh:  // Of f64; f32 has its own.
      return &Tanh::F64;
    case Opcode::kRsqrt:
      return single ? LoopOf<Rsqrt, float>() : LoopOf<Rsqrt, double>();
    default:
      return nullptr;
  }
}

const void* VectorFunctionOf([[maybe_unused]] Opcode opcode, [[maybe_unused]] ComputeType compute_type) {
#if defined(HLO_AVX512_VECTORS) || defined(HLO_AVX2_VECTORS)
  const void* division = WithDivision(
      opcode, compute_type, [](auto d) { return reinterpret_cast<const void*>(&decltype(d)::Call); });
  const bool single = compute_type == ComputeType::kF32;
  if (division != nullptr || (!single && compute_type != ComputeType::kF64)) return division;
  if (const void* own = single ? OwnVectorFunction(opcode) : nullptr) return own;
  if (opcode == Opcode::kTanh) return reinterpret_cast<const void*>(&TanhOfDoubles);
  switch (opcode) {
#define HLO_CASE(name, function)                                          \
  case Opcode::k##name:                                                   \
    return single ? reinterpret_cast<const void*>(&HLO_ONE_F32(function)) \
                  : reinterpret_cast<const void*>(&HLO_ONE(function));
    HLO_LIBMVEC_UNARY(HLO_CASE)
#undef HLO_CASE
#define HLO_CASE(name, function)                                          \
  case Opcode::k##name:                                                   \
    return single ? reinterpret_cast<const void*>(&HLO_TWO_F32(function)) \
                  : reinterpret_cast<const void*>(&HLO_TWO(function));
    HLO_LIBMVEC_BINARY(HLO_CASE)
#undef HLO_CASE
    default:
      break;
  }
#endif
  return nullptr;
}

}  // namespace hlo::cpu

#else

namespace hlo::cpu {
TileFn VectorTileOp(Opcode opcode, ComputeType compute_type) { return OwnTileOp(opcode, compute_type); }
const void* VectorFunctionOf(Opcode /*opcode*/, ComputeType /*compute_type*/) { return nullptr; }
}  // namespace hlo::cpu

#endif
