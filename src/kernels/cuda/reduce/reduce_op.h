#pragma once
// Element types and binary operations, with the semantics of types/scalar_ops.h.

#include <cmath>
#include <cstdint>

#include "kernels/cuda/intrinsics/portable.h"
#include "kernels/cuda/intrinsics/small_floats.h"

namespace hlo::cuda {

// Addition and multiplication of pred are kOr and kAnd.
enum class ReduceOp : uint8_t { kAdd, kMultiply, kMaximum, kMinimum, kAnd, kOr, kXor, kSecond };
enum class Order : uint8_t { kLt, kLe, kGt, kGe };

// Properties of an element type that its C++ type does not express.
struct ElementKind {
  uint64_t sign = 0;     // Signed integers: the sign bit.
  bool is_bf16 = false;  // 16-bit floats: bf16, not f16.
};

// Stored: the type in memory; ComputeType: the compute type.
template <class U>
struct IntegerElement {
  using Stored = U;
  using ComputeType = U;
  static HLO_DEVICE ComputeType Load(Stored x, ElementKind) { return x; }
  static HLO_DEVICE Stored Store(ComputeType x, ElementKind) { return x; }
  static HLO_DEVICE bool Holds(Order order, ComputeType a, ComputeType b, ElementKind kind) {
    const U x = a ^ static_cast<U>(kind.sign), y = b ^ static_cast<U>(kind.sign);
    return order == Order::kLt ? x < y : order == Order::kLe ? x <= y : order == Order::kGt ? x > y : x >= y;
  }
  static HLO_DEVICE ComputeType Combine(ReduceOp fold, ComputeType a, ComputeType b, ElementKind kind) {
    switch (fold) {
      case ReduceOp::kAdd:
        return static_cast<U>(a + b);
      case ReduceOp::kMultiply:
        return static_cast<U>(static_cast<uint64_t>(a) * b);
      case ReduceOp::kMaximum:
        return Holds(Order::kLt, a, b, kind) ? b : a;
      case ReduceOp::kMinimum:
        return Holds(Order::kLt, b, a, kind) ? b : a;
      case ReduceOp::kAnd:
        return a & b;
      case ReduceOp::kOr:
        return a | b;
      case ReduceOp::kXor:
        return a ^ b;
      default:
        return b;
    }
  }
};

// Maximum and minimum propagate NaN (the first of two); -0 is less than +0.
template <class T>
HLO_DEVICE T CombineFloats(ReduceOp fold, T a, T b) {
  switch (fold) {
    case ReduceOp::kAdd:
      return a + b;
    case ReduceOp::kMultiply:
      return a * b;
    case ReduceOp::kMaximum:
    case ReduceOp::kMinimum: {
      if (a != a) return a;
      if (b != b) return b;
      const bool greatest = fold == ReduceOp::kMaximum;
      if (a == b) return std::signbit(a) == greatest ? b : a;
      return (a < b) == greatest ? b : a;
    }
    default:
      return b;
  }
}
template <class T>
HLO_DEVICE bool FloatsHold(Order order, T a, T b) {
  return order == Order::kLt ? a < b : order == Order::kLe ? a <= b : order == Order::kGt ? a > b : a >= b;
}

template <class T>
struct FloatElement {
  using Stored = T;
  using ComputeType = T;
  static HLO_DEVICE ComputeType Load(Stored x, ElementKind) { return x; }
  static HLO_DEVICE Stored Store(ComputeType x, ElementKind) { return x; }
  static HLO_DEVICE bool Holds(Order order, ComputeType a, ComputeType b, ElementKind) {
    return FloatsHold(order, a, b);
  }
  static HLO_DEVICE ComputeType Combine(ReduceOp fold, ComputeType a, ComputeType b, ElementKind) {
    return CombineFloats(fold, a, b);
  }
};

struct HalfElement {
  using Stored = uint16_t;
  using ComputeType = float;
  static HLO_DEVICE ComputeType Load(Stored x, ElementKind kind) {
    return kind.is_bf16 ? BF16ToFloat(x) : F16ToFloat(x);
  }
  static HLO_DEVICE Stored Store(ComputeType x, ElementKind kind) {
    return kind.is_bf16 ? FloatToBF16(x) : FloatToF16(x);
  }
  static HLO_DEVICE bool Holds(Order order, ComputeType a, ComputeType b, ElementKind) {
    return FloatsHold(order, a, b);
  }
  static HLO_DEVICE ComputeType Combine(ReduceOp fold, ComputeType a, ComputeType b, ElementKind) {
    return CombineFloats(fold, a, b);
  }
};

// Complex elements support addition only.
template <class T>
struct alignas(2 * sizeof(T)) TwoParts {
  T re, im;
};
template <class T>
struct ComplexElement {
  using Stored = TwoParts<T>;
  using ComputeType = TwoParts<T>;
  static HLO_DEVICE ComputeType Load(Stored x, ElementKind) { return x; }
  static HLO_DEVICE Stored Store(ComputeType x, ElementKind) { return x; }
  static HLO_DEVICE ComputeType Combine(ReduceOp fold, ComputeType a, ComputeType b, ElementKind) {
    return fold == ReduceOp::kAdd ? ComputeType{a.re + b.re, a.im + b.im} : b;
  }
};

// Combines two elements and rounds to the stored type.
template <class E>
HLO_DEVICE typename E::ComputeType CombineRounded(ReduceOp fold, typename E::ComputeType a,
                                                  typename E::ComputeType b, ElementKind kind) {
  return E::Load(E::Store(E::Combine(fold, a, b, kind), kind), kind);
}

}  // namespace hlo::cuda
