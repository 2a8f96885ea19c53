// This file implements tile operations on f32 and f64.

#include <cmath>

#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/simd/small_float_codes.h"

namespace hlo::cpu {
namespace {

struct Clamp {
  template <class T>
  T operator()(T low, T x, T high) const {
    return FloatMinimum()(FloatMaximum()(low, x), high);
  }
};

// Returns an operation that is exact in single precision, as if computed in double precision and rounded.
template <class T>
TileFn FindFloatOp(Opcode opcode) {
  switch (opcode) {
    case Opcode::kMaximum:
      return LoopOf<FloatMaximum, T>();
    case Opcode::kMinimum:
      return LoopOf<FloatMinimum, T>();
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

template <class F>
struct RoundedToBF16 {
  template <class... T>
  requires std::is_invocable_r_v<float, F, T...>
  float operator()(T... a) const { return RoundToBF16(F()(a...)); }
};

// Returns a function of the C library that has no vector version.
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

TileCall FindRoundedTileOp(Opcode opcode, ElementType type) {
  if (type != ElementType::kBF16) return {};
  const auto found = [&]() -> TileFn {
    switch (opcode) {
      case Opcode::kAdd:
        return LoopOf<RoundedToBF16<scalar::Add>, float>();
      case Opcode::kDivide:
        return LoopOf<RoundedToBF16<scalar::Divide>, float>();
      case Opcode::kMultiply:
        return LoopOf<RoundedToBF16<scalar::Multiply>, float>();
      case Opcode::kSqrt:
        return LoopOf<RoundedToBF16<scalar::Sqrt>, float>();
      case Opcode::kSubtract:
        return LoopOf<RoundedToBF16<scalar::Subtract>, float>();
      default:
        return nullptr;
    }
  };
  return {
      found(), 0, {.kind = TileSymbol::Kind::kRoundedOperation, .opcode = opcode, .from = type, .to = type}};
}

TileFn FloatTileOp(Opcode opcode, Lane lane) {
  return DispatchLane(lane, [&]<class T>() -> TileFn {
    if constexpr (std::is_floating_point_v<T>) {
      if (const TileFn exact = FindFloatOp<T>(opcode)) return exact;
      if (const TileFn vector = VectorTileOp(opcode, lane)) return vector;
      return FindFunction<T>(opcode);
    } else {
      return nullptr;
    }
  });
}

}  // namespace hlo::cpu
