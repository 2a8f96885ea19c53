#pragma once
// This file defines the operations of chains on vectors of 32-bit elements. Results have the same bits as
// those of scalar_ops.h and tile_loops.h.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/simd/first_nan.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/simd/vector_functions.h"

namespace hlo::cpu::chain {

using Floats = Vector<float>;
using Words = Vector<uint32_t>;
using Signed = Vector<int32_t>;
inline constexpr int64_t kLane = kLanes<float>;

#define HLO_BINARY(name, type, expression)                               \
  struct name {                                                          \
    static constexpr bool kIsOfIntegers = !std::is_same_v<type, Floats>; \
    Floats operator()(Floats x, Floats y) const {                        \
      const auto a = BitsOf<type>(x);                                    \
      const auto b = BitsOf<type>(y);                                    \
      return BitsOf<Floats>(expression);                                 \
    }                                                                    \
  }
HLO_BINARY(AddF32, Floats, a + b);
HLO_BINARY(SubtractF32, Floats, a - b);
HLO_BINARY(MultiplyF32, Floats, a* b);
HLO_BINARY(DivideF32, Floats, a / b);
HLO_BINARY(EqF32, Floats, a == b);
HLO_BINARY(NeF32, Floats, a != b);
HLO_BINARY(LtF32, Floats, a < b);
HLO_BINARY(LeF32, Floats, a <= b);
HLO_BINARY(GtF32, Floats, a > b);
HLO_BINARY(GeF32, Floats, a >= b);
HLO_BINARY(Add32, Words, a + b);
HLO_BINARY(Subtract32, Words, a - b);
HLO_BINARY(Multiply32, Words, a* b);
HLO_BINARY(And, Words, a& b);
HLO_BINARY(Or, Words, a | b);
HLO_BINARY(Xor, Words, a ^ b);
HLO_BINARY(ShiftLeft, Words, (a << (b & 31u)) & BitsOf<Words>(b < 32u));
HLO_BINARY(ShiftRightLogical, Words, (a >> (b & 31u)) & BitsOf<Words>(b < 32u));
HLO_BINARY(EqS32, Signed, a == b);
HLO_BINARY(NeS32, Signed, a != b);
HLO_BINARY(LtS32, Signed, a < b);
HLO_BINARY(LeS32, Signed, a <= b);
HLO_BINARY(GtS32, Signed, a > b);
HLO_BINARY(GeS32, Signed, a >= b);
#undef HLO_BINARY

struct MaximumF32 {
  static constexpr bool kIsOfIntegers = false;
  Floats operator()(Floats a, Floats b) const { return OrFirstNan<float>(MaximumOf<float>(a, b), a, b); }
};
struct MinimumF32 {
  static constexpr bool kIsOfIntegers = false;
  Floats operator()(Floats a, Floats b) const { return OrFirstNan<float>(MinimumOf<float>(a, b), a, b); }
};

#define HLO_UNARY(name, type, expression) \
  struct name {                           \
    Floats operator()(Floats x) const {   \
      const auto a = BitsOf<type>(x);     \
      return BitsOf<Floats>(expression);  \
    }                                     \
  }
HLO_UNARY(NegateF32, Words, a ^ 0x80000000u);
HLO_UNARY(AbsF32, Words, a & 0x7fffffffu);
HLO_UNARY(Negate32, Words, -a);
HLO_UNARY(Not, Words, ~a);
#undef HLO_UNARY
struct SqrtF32 {
  Floats operator()(Floats a) const {
    float lanes[kLanes<float>];
    StoreVector(lanes, a);
    for (int k = 0; k < kLanes<float>; ++k) lanes[k] = std::sqrt(lanes[k]);
    return LoadVector(lanes);
  }
};

struct ExpOf {
  Floats operator()(Floats a) const { return ExpF32(a); }
};
struct TanhOf {
  Floats operator()(Floats a) const { return TanhF32(a); }
};
struct LogisticOf {
  Floats operator()(Floats a) const { return LogisticF32(a); }
};
struct SineOf {
  Floats operator()(Floats a) const { return SinF32(a); }
};
struct CosineOf {
  Floats operator()(Floats a) const { return CosF32(a); }
};

}  // namespace hlo::cpu::chain
