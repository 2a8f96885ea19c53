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
#include "kernels/cpu/simd/vector_roots.h"

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
void VectorLoop1(int64_t n, void* out, const void* const* in, F f) {
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

// Loops of our own functions.
template <class T, class F>
void OwnLoop1(int64_t n, void* out, const void* const* in, int64_t) {
  VectorLoop1<Vector<T>, T>(n, out, in, F());
}
template <class T, class F>
void OwnLoop2(int64_t n, void* out, const void* const* in, int64_t) {
  VectorLoop2<Vector<T>, T>(n, out, in, F());
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

// Calls f with our own function of vectors of T, if the opcode has one that is accurate and fast on the
// target.
template <class T, class Result, class F>
Result WithOwnFunction(Opcode opcode, F&& f) {
  using V = Vector<T>;
  if constexpr (std::is_same_v<T, float>) {
    if (opcode == Opcode::kExponential) return f([](V x) { return ExpF32(x); });
    if (opcode == Opcode::kLogistic) return f([](V x) { return LogisticF32(x); });
    if (opcode == Opcode::kTanh) return f([](V x) { return TanhF32(x); });
  }
  if constexpr (kFusesMulAdd) {
    if (opcode == Opcode::kCbrt) return f([](V x) { return CubeRoot<T>(x); });
    if constexpr (std::is_same_v<T, float>) {
      if (opcode == Opcode::kCosine) return f([](V x) { return CosF32(x); });
      if (opcode == Opcode::kSine) return f([](V x) { return SinF32(x); });
      if (opcode == Opcode::kErf) return f([](V x) { return ErfF32(x); });
      if (opcode == Opcode::kLog) return f([](V x) { return LogF32(x); });
      if (opcode == Opcode::kLogPlusOne) return f([](V x) { return LogPlusOneF32(x); });
      if (opcode == Opcode::kPower) return f([](V x, V y) { return PowerF32(x, y); });
      if (opcode == Opcode::kAtan2) return f([](V y, V x) { return Atan2F32(y, x); });
    } else {
      if (opcode == Opcode::kTanh) return f([](V x) { return TanhF64(x); });
      if (opcode == Opcode::kRsqrt) return f([](V x) { return ReciprocalRoot(x); });
    }
  }
  return nullptr;
}

template <class T>
TileFn OwnTileOp(Opcode opcode) {
  return WithOwnFunction<T, TileFn>(opcode, []<class F>(F) -> TileFn {
    if constexpr (std::is_invocable_v<F, Vector<T>>)
      return &OwnLoop1<T, F>;
    else
      return &OwnLoop2<T, F>;
  });
}
TileFn OwnTileOp(Opcode opcode, ComputeType compute_type) {
  if (compute_type == ComputeType::kF32) return OwnTileOp<float>(opcode);
  return compute_type == ComputeType::kF64 ? OwnTileOp<double>(opcode) : nullptr;
}

#if defined(HLO_AVX512_VECTORS) || defined(HLO_AVX2_VECTORS)
// Returns the address of our own function of vectors, which takes and returns them in registers.
template <class T>
const void* OwnVectorFunction(Opcode opcode) {
  return WithOwnFunction<T, const void*>(opcode, []<class F>(F) -> const void* {
    using V = Vector<T>;
    if constexpr (std::is_invocable_v<F, V>)
      return reinterpret_cast<const void*>(static_cast<V (*)(V)>([](V x) { return F()(x); }));
    else
      return reinterpret_cast<const void*>(static_cast<V (*)(V, V)>([](V x, V y) { return F()(x, y); }));
  });
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

#define HLO_FUNCTION(name, function)                                                             \
  struct name {                                                                                  \
    static void F32(int64_t n, void* out, const void* const* in, int64_t) {                      \
      VectorLoop1<Floats, float>(n, out, in, [](Floats x) { return HLO_ONE_F32(function)(x); }); \
    }                                                                                            \
    static void F64(int64_t n, void* out, const void* const* in, int64_t) {                      \
      VectorLoop1<Doubles, double>(n, out, in, [](Doubles x) { return HLO_ONE(function)(x); });  \
    }                                                                                            \
  };
HLO_LIBMVEC_UNARY(HLO_FUNCTION)
#undef HLO_FUNCTION

struct Logistic {
  static void F32(int64_t n, void* out, const void* const* in, int64_t) {
    VectorLoop1<Floats, float>(n, out, in, [](Floats x) { return 1.0f / (1.0f + HLO_ONE_F32(exp)(-x)); });
  }
  static void F64(int64_t n, void* out, const void* const* in, int64_t) {
    VectorLoop1<Doubles, double>(n, out, in, [](Doubles x) { return 1.0 / (1.0 + HLO_ONE(exp)(-x)); });
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
    case Opcode::kRsqrt:  // Of f32; f64 has its own.
      return LoopOf<Rsqrt, float>();
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
  if (const void* own = single ? OwnVectorFunction<float>(opcode) : OwnVectorFunction<double>(opcode))
    return own;
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
