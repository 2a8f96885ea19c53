// Tile operations on f32 and f64.

#include <cmath>

#include "kernels/cpu/tile_loops.h"

namespace hlo::cpu {
namespace {

// Minimum and Maximum of scalar_ops.h without a branch: NaN wins, the first of two; -0 is less than +0.
struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    const T larger = a > b || (a == b && !std::signbit(a)) ? a : b;
    return a != a ? a : larger;
  }
};
struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    const T smaller = a < b || (a == b && std::signbit(a)) ? a : b;
    return a != a ? a : smaller;
  }
};
struct Clamp {
  template <class T>
  T operator()(T low, T x, T high) const {
    return Minimum()(Maximum()(low, x), high);
  }
};

// Operations that single precision computes exactly as double precision and one rounding would.
template <class T>
TileFn Find(Opcode opcode) {
  switch (opcode) {
    case Opcode::kMaximum:
      return LoopOf<Maximum, T>();
    case Opcode::kMinimum:
      return LoopOf<Minimum, T>();
    case Opcode::kClamp:
      return LoopOf<Clamp, T>();
#define HLO_CASE(name)  \
  case Opcode::k##name: \
    return LoopOf<scalar::name, T>();
      HLO_CASE(Abs)
      HLO_CASE(Add)
      HLO_CASE(Ceil)
      HLO_CASE(Complex)
      HLO_CASE(Divide)
      HLO_CASE(Floor)
      HLO_CASE(Imag)
      HLO_CASE(IsFinite)
      HLO_CASE(Multiply)
      HLO_CASE(Negate)
      HLO_CASE(Real)
      HLO_CASE(Remainder)
      HLO_CASE(RoundNearestAfz)
      HLO_CASE(RoundNearestEven)
      HLO_CASE(Sign)
      HLO_CASE(Sqrt)
      HLO_CASE(Subtract)
#undef HLO_CASE
    default:
      return nullptr;
  }
}

// The functions of the C library, where there is no vector of them.
template <class T>
TileFn FindFunction(Opcode opcode) {
  switch (opcode) {
#define HLO_CASE(name)                              \
  case Opcode::k##name:                             \
    if constexpr (std::is_same_v<T, float>)         \
      return LoopOf<ByWayOfF64<scalar::name>, T>(); \
    else                                            \
      return LoopOf<scalar::name, T>();
    HLO_CASE(Acos)
    HLO_CASE(Acosh)
    HLO_CASE(Asin)
    HLO_CASE(Asinh)
    HLO_CASE(Atan2)
    HLO_CASE(Atanh)
    HLO_CASE(Cbrt)
    HLO_CASE(Cosh)
    HLO_CASE(Cosine)
    HLO_CASE(Erf)
    HLO_CASE(Exp2)
    HLO_CASE(Exponential)
    HLO_CASE(ExponentialMinusOne)
    HLO_CASE(Log)
    HLO_CASE(Log2)
    HLO_CASE(LogPlusOne)
    HLO_CASE(Logistic)
    HLO_CASE(Power)
    HLO_CASE(Rsqrt)
    HLO_CASE(Sine)
    HLO_CASE(Sinh)
    HLO_CASE(Tan)
    HLO_CASE(Tanh)
#undef HLO_CASE
    default:
      return nullptr;
  }
}

}  // namespace

TileFn FloatTileOp(Opcode opcode, Lane lane) {
  return DispatchLane(lane, [&]<class T>() -> TileFn {
    if constexpr (std::is_floating_point_v<T>) {
      if (const TileFn exact = Find<T>(opcode)) return exact;
      if (const TileFn vector = VectorTileOp(opcode, lane)) return vector;
      return FindFunction<T>(opcode);
    } else {
      return nullptr;
    }
  });
}

}  // namespace hlo::cpu
