// This file implements tile operations on integers and pred.

#include <algorithm>

#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {
namespace {

// The shifts of scalar_ops.h for types as wide as their compute type, in a form that vectorises. AVX2
// compares 64-bit numbers for equality only fast, and has no arithmetic shift of them.
template <class T>
constexpr std::make_unsigned_t<T> kLastBit = 8 * sizeof(T) - 1;
template <class T>
bool IsWithinWidth(T count) {
  using U = std::make_unsigned_t<T>;
  return (static_cast<U>(count) & static_cast<U>(~kLastBit<T>)) == 0;
}
struct FullShiftLeft {
  template <class T>
  T operator()(T a, T count) const {
    using U = std::make_unsigned_t<T>;
    const U shifted = static_cast<U>(a) << (static_cast<U>(count) & kLastBit<T>);
    return static_cast<T>(IsWithinWidth(count) ? shifted : U{0});
  }
};
struct FullShiftRightLogical {
  template <class T>
  T operator()(T a, T count) const {
    using U = std::make_unsigned_t<T>;
    const U shifted = static_cast<U>(a) >> (static_cast<U>(count) & kLastBit<T>);
    return static_cast<T>(IsWithinWidth(count) ? shifted : U{0});
  }
};
struct FullShiftRightArithmetic {
  template <class T>
  T operator()(T a, T count) const {
    using U = std::make_unsigned_t<T>;
    const U c = IsWithinWidth(count) ? static_cast<U>(count) : kLastBit<T>;
    if constexpr (sizeof(T) == 8) {
      const U sign = static_cast<std::make_signed_t<T>>(a) < 0 ? ~U{0} : U{0};
      return static_cast<T>(((static_cast<U>(a) ^ sign) >> c) ^ sign);
    } else {
      return static_cast<T>(static_cast<std::make_signed_t<T>>(a) >> c);
    }
  }
};

// The same for at most 16 bits, in lanes of 32 bits, which shift by different counts.
struct NarrowShift {
  static constexpr uint32_t kMaxCount = 31;
  int bits;
  template <class T>
  uint32_t Bits(T a) const {
    return static_cast<uint32_t>(a) & ((uint32_t{1} << bits) - 1);
  }
  template <class T>
  uint32_t Count(T count) const {
    return std::min(Bits(count), kMaxCount);
  }
};
struct NarrowShiftLeft : NarrowShift {
  template <class T>
  T operator()(T a, T count) const {
    return static_cast<T>(Bits(a) << Count(count));
  }
};
struct NarrowShiftRightLogical : NarrowShift {
  // The compiler would narrow a shift of the lower bits to lanes of 16 bits, which does not vectorise.
  template <class T>
  T operator()(T a, T count) const {
    const uint32_t upper = Bits(a) << (32 - bits);
    return static_cast<T>(upper >> Count(count) >> (32 - bits));
  }
};
struct NarrowShiftRightArithmetic : NarrowShift {
  template <class T>
  T operator()(T a, T count) const {
    const auto extended = static_cast<int32_t>(Bits(a) << (32 - bits)) >> (32 - bits);
    return static_cast<T>(extended >> Count(count));
  }
};

#if defined(HLO_AVX512_VECTORS)
// Vectors of 32 elements in lanes of 16 bits, whose shifts by 16 and more shift out all bits.
[[gnu::always_inline]] inline __m512i LoadHalfLanes(const int16_t* from) { return _mm512_loadu_si512(from); }
[[gnu::always_inline]] inline __m512i LoadHalfLanes(const int8_t* from) {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
[[gnu::always_inline]] inline void StoreHalfLanes(int16_t* to, __m512i v) { _mm512_storeu_si512(to, v); }
[[gnu::always_inline]] inline void StoreHalfLanes(int8_t* to, __m512i v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi16_epi8(v));
}
#endif

// A loop of a narrow shift.
template <class F, class T>
void NarrowShiftLoop(int64_t n, void* out, const void* const* in, int64_t bits) {
  int64_t i = 0;
#if defined(HLO_AVX512_VECTORS)
  constexpr int64_t kCount = 32;
  using Signed = std::make_signed_t<T>;
  const auto* a = static_cast<const Signed*>(in[0]);
  const auto* counts = static_cast<const Signed*>(in[1]);
  const __m512i field = _mm512_set1_epi16(static_cast<int16_t>((1 << bits) - 1));
  const __m512i unused = _mm512_set1_epi16(static_cast<int16_t>(16 - bits));
  for (; i + kCount <= n; i += kCount) {
    const __m512i value = _mm512_and_si512(LoadHalfLanes(a + i), field);
    const __m512i count = _mm512_and_si512(LoadHalfLanes(counts + i), field);
    __m512i shifted;
    if constexpr (std::is_same_v<F, NarrowShiftLeft>)
      shifted = _mm512_sllv_epi16(value, count);
    else if constexpr (std::is_same_v<F, NarrowShiftRightLogical>)
      shifted = _mm512_srlv_epi16(value, count);
    else
      shifted = _mm512_srav_epi16(_mm512_srav_epi16(_mm512_sllv_epi16(value, unused), unused), count);
    StoreHalfLanes(static_cast<Signed*>(out) + i, shifted);
  }
#endif
  const void* const rest[] = {static_cast<const T*>(in[0]) + i, static_cast<const T*>(in[1]) + i};
  BinaryLoop<F, T>(n - i, static_cast<T*>(out) + i, rest, bits);
}

// Popcnt and CountLeadingZeros of scalar_ops.h for at most 16 bits, by sums of fields of 2, 4, 8 and 16 bits.
template <class U>
U SumOfBits(U x) {
  constexpr auto kEach = [](int field) { return static_cast<U>(0xffff / ((1 << field) - 1)); };
  x = static_cast<U>(x - ((x >> 1) & kEach(2)));
  x = static_cast<U>((x & (3 * kEach(4))) + ((x >> 2) & (3 * kEach(4))));
  x = static_cast<U>((x + (x >> 4)) & (15 * kEach(8)));
  if constexpr (sizeof(U) == 2) x = static_cast<U>((x + (x >> 8)) & 31);
  return x;
}
struct NarrowPopcnt {
  int bits;
  template <class T>
  T operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(SumOfBits(static_cast<U>(static_cast<U>(a) & ((1u << bits) - 1))));
  }
};
struct NarrowCountLeadingZeros {
  int bits;
  template <class T>
  T operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    auto ones = static_cast<U>(static_cast<U>(a) & ((1u << bits) - 1));
    ones = static_cast<U>(ones | (ones >> 1));
    ones = static_cast<U>(ones | (ones >> 2));
    ones = static_cast<U>(ones | (ones >> 4));
    if constexpr (sizeof(U) == 2) ones = static_cast<U>(ones | (ones >> 8));
    return static_cast<T>(bits - SumOfBits(ones));
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
TileFn FindNarrowOp(Opcode opcode) {
  switch (opcode) {
    case Opcode::kShiftLeft:
      return &NarrowShiftLoop<NarrowShiftLeft, T>;
    case Opcode::kShiftRightArithmetic:
      return &NarrowShiftLoop<NarrowShiftRightArithmetic, T>;
    case Opcode::kShiftRightLogical:
      return &NarrowShiftLoop<NarrowShiftRightLogical, T>;
    case Opcode::kPopcnt:
      return LoopOf<NarrowPopcnt, T>();
    case Opcode::kCountLeadingZeros:
      return LoopOf<NarrowCountLeadingZeros, T>();
    default:
      return nullptr;
  }
}

template <class T>
TileFn FindIntegerOp(Opcode opcode) {
  // Lanes of at least 32 bits only hold types of their own width.
  if constexpr (sizeof(T) >= 4) {
    if (const TileFn shift = FindFullShift<T>(opcode)) return shift;
  } else if constexpr (!std::is_same_v<T, bool>) {
    if (const TileFn narrow = FindNarrowOp<T>(opcode)) return narrow;
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
