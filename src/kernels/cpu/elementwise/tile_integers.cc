// This file implements tile operations on integers and pred.

#include "kernels/cpu/elementwise/tile_loops.h"

namespace hlo::cpu {
namespace {

// The shifts of scalar_ops.h for types as wide as their compute type, in a form that vectorises.
template <class T>
constexpr std::make_unsigned_t<T> kWidth = 8 * sizeof(T);
struct FullShiftLeft {
  template <class T>
  T operator()(T a, T count) const {
    using U = std::make_unsigned_t<T>;
    const auto c = static_cast<U>(count);
    const U shifted = static_cast<U>(a) << (c % kWidth<T>);
    return static_cast<T>(c < kWidth<T> ? shifted : U{0});
  }
};
struct FullShiftRightLogical {
  template <class T>
  T operator()(T a, T count) const {
    using U = std::make_unsigned_t<T>;
    const auto c = static_cast<U>(count);
    const U shifted = static_cast<U>(a) >> (c % kWidth<T>);
    return static_cast<T>(c < kWidth<T> ? shifted : U{0});
  }
};
struct FullShiftRightArithmetic {
  template <class T>
  T operator()(T a, T count) const {
    const auto c = static_cast<std::make_unsigned_t<T>>(count);
    return static_cast<T>(static_cast<std::make_signed_t<T>>(a) >> (c < kWidth<T> ? c : kWidth<T> - 1));
  }
};

// Divide and Remainder of scalar_ops.h for at most 32 bits, by way of floats, in a form that vectorises. A
// quotient that is no integer is further from one than the rounding error, so that the results are exact.
struct FloatDivide {
  template <class T>
  T operator()(T a, T b) const {
    using Float = std::conditional_t<sizeof(T) == 4, double, float>;
    constexpr T kMinusOne = static_cast<T>(-1);
    const bool negates = std::is_signed_v<T> && b == kMinusOne;
    const T divisor = b == 0 || negates ? T{1} : b;
    const auto quotient = static_cast<T>(static_cast<Float>(a) / static_cast<Float>(divisor));
    const T negative = static_cast<T>(std::make_unsigned_t<T>{0} - static_cast<std::make_unsigned_t<T>>(a));
    return b == 0 ? kMinusOne : negates ? negative : quotient;
  }
};
struct FloatRemainder {
  template <class T>
  T operator()(T a, T b) const {
    using U = std::make_unsigned_t<T>;
    // Narrow factors would be promoted to int, which their product may overflow.
    return static_cast<T>(static_cast<U>(a) - 1u * static_cast<U>(FloatDivide()(a, b)) * static_cast<U>(b));
  }
};

template <class T>
TileFn FindFullShift(Opcode opcode) {
  switch (opcode) {
    case Opcode::kShiftLeft:
      return LoopOf<FullShiftLeft, T>();
    case Opcode::kShiftRightArithmetic:
      return LoopOf<FullShiftRightArithmetic, T>();
    case Opcode::kShiftRightLogical:
      return LoopOf<FullShiftRightLogical, T>();
    default:
      return nullptr;
  }
}

template <class T>
TileFn FindIntegerOp(Opcode opcode) {
  // Lanes of at least 32 bits only hold types of their own width.
  if constexpr (sizeof(T) >= 4) {
    if (const TileFn shift = FindFullShift<T>(opcode)) return shift;
  }
  if constexpr (sizeof(T) <= 4 && !std::is_same_v<T, bool>) {
    if (opcode == Opcode::kDivide) return LoopOf<FloatDivide, T>();
    if (opcode == Opcode::kRemainder) return LoopOf<FloatRemainder, T>();
  }
  switch (opcode) {
#define HLO_SCALAR_OP(name, ...) \
  case Opcode::k##name:          \
    return LoopOf<scalar::name, T>();
#include "hlo_run/opcodes.def"
    default:
      return nullptr;
  }
}

}  // namespace

TileFn IntegerTileOp(Opcode opcode, ComputeType compute_type) {
  return DispatchComputeType(compute_type, [&]<class T>() -> TileFn {
    if constexpr (std::is_integral_v<T>)
      return FindIntegerOp<T>(opcode);
    else
      return nullptr;
  });
}

}  // namespace hlo::cpu
