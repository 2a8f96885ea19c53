#include "kernels/cpu/simd/widen.h"

#include <array>
#include <type_traits>

#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/simd/small_float_codes.h"
#include "types/dispatch.h"
#include "types/scalar_ops.h"

namespace hlo::cpu {
namespace {

template <class T>
inline constexpr bool kIsComplex = scalar::ComplexNumber<T>;

template <class S>
concept Small = requires(S s) {
  s.ToFloat();
};

template <class N>
inline constexpr FloatFormat FormatOf = N::format();

// Returns a table of the values of a type of at most 8 bits, indexed by code.
template <class S>
const std::array<float, 256>& ValuesByCode() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> table;
    const int codes = 1 << S::format().bits();
    for (int code = 0; code < 256; ++code)
      table[code] = S::FromBits(static_cast<uint8_t>(code & (codes - 1))).ToFloat();
    return table;
  }();
  return values;
}

template <class T, class S>
constexpr bool Widens() {
  if constexpr (kIsComplex<S>)
    return kIsComplex<T>;
  else if constexpr (std::is_integral_v<T>)
    return std::is_integral_v<S>;
  else
    return true;
}

template <class T, class S>
[[gnu::always_inline]] inline T Widened(S value, const float* values) {
  if constexpr (Small<S> && sizeof(S) == 1)
    return static_cast<T>(values[value.bits]);
  else if constexpr (Small<S>)
    return static_cast<T>(value.ToFloat());
  else if constexpr (kIsComplex<T> && kIsComplex<S>)
    return T(value);
  else if constexpr (kIsComplex<T>)
    return T(static_cast<typename T::value_type>(value));
  else
    return static_cast<T>(value);
}

// The prefetch distance in rows: short rows of a wide matrix are in separate cache lines.
constexpr int64_t kRowsAhead = 16;

template <class T, class S>
void Widen(const void* from, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns, T* to,
           int64_t ld) {
  const S* source = static_cast<const S*>(from);
  const float* values = nullptr;
  if constexpr (Small<S> && sizeof(S) == 1) values = ValuesByCode<S>().data();
  for (int64_t r = 0; r < rows; ++r) {
    const S* row = source + r * row_stride;
    T* out = to + r * ld;
    if (r + kRowsAhead < rows) __builtin_prefetch(row + kRowsAhead * row_stride);
    if (column_stride == 1) {
      int64_t c = 0;
      if constexpr (std::is_same_v<T, float> && (std::is_same_v<S, float16> || std::is_same_v<S, bfloat16>)) {
        for (; c + kLanes<T> <= columns; c += kLanes<T>) StoreVector(out + c, LoadAs<T>(row + c));
      }
      for (; c < columns; ++c) out[c] = Widened<T>(row[c], values);
    } else {
      for (int64_t c = 0; c < columns; ++c) out[c] = Widened<T>(row[c * column_stride], values);
    }
  }
}

template <ElementType kType, class T>
Native<kType> Narrowed(T value, int bits) {
  using N = Native<kType>;
  if constexpr (kIsComplex<T>) {
    return N(value);
  } else if constexpr (kType == ElementType::kPred) {
    return value != T{};
  } else if constexpr (std::is_integral_v<N> && std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<N>)
      return static_cast<N>(scalar::SignedBits(value, bits));
    else
      return static_cast<N>(scalar::UnsignedBits(value, bits));
  } else if constexpr (std::is_integral_v<N>) {
    const auto f32 = static_cast<double>(static_cast<float>(value));
    if constexpr (std::is_signed_v<N>)
      return static_cast<N>(scalar::ToSigned(f32, bits));
    else
      return static_cast<N>(scalar::ToUnsigned(f32, bits));
  } else if constexpr (Small<N>) {
    constexpr bool is_code = sizeof(N) == 1 && kType != ElementType::kF8E8M0FNU;
    if constexpr (std::is_same_v<T, float> && is_code)
      return N::FromBits(static_cast<uint8_t>(EncodeFloat<FormatOf<N>>(value)));
    else if constexpr (std::is_same_v<T, float>)
      return N::FromFloat(value);
    else
      return N::FromDouble(static_cast<double>(value));
  } else {
    return static_cast<N>(value);
  }
}

// Returns the same bits as FromFloat, in the upper halves.
[[gnu::always_inline]] inline Vector<uint32_t> BF16From(const float* from) {
  const Vector<float> values = LoadVector(from);
  const auto bits = BitsOf<Vector<uint32_t>>(values);
  return values == values ? RoundedToBF16(values) : (bits & 0x80000000u) | 0x7fc00000u;
}

template <ElementType kType, class T>
void Narrow(const T* from, int64_t count, void* to) {
  auto* out = static_cast<Native<kType>*>(to);
  int64_t i = 0;
  if constexpr (kType == ElementType::kBF16 && std::is_same_v<T, float>) {
    constexpr int64_t kLane = kLanes<float>;
    for (; i + 2 * kLane <= count; i += 2 * kLane)
      StoreUpperHalves(out + i, BF16From(from + i), BF16From(from + i + kLane));
  }
#if defined(__F16C__)
  if constexpr (kType == ElementType::kF16 && std::is_same_v<T, float>) {
    for (; i + 8 <= count; i += 8) {
      const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), half);
    }
  }
#endif
  constexpr bool fills_bytes = kType == ElementType::kS8 || kType == ElementType::kU8;
  if constexpr (sizeof(Native<kType>) == 1 && !fills_bytes) {
    const int bits = static_cast<int>(BitWidth(kType));
    for (; i < count; ++i) out[i] = Narrowed<kType>(from[i], bits);
  } else {
    constexpr int bits = 8 * static_cast<int>(sizeof(Native<kType>));
    for (; i < count; ++i) out[i] = Narrowed<kType>(from[i], bits);
  }
}

}  // namespace

template <class T>
WidenBlock<T> WidenBlockOf(ElementType type) {
  return DispatchType(type, []<ElementType kType>() -> WidenBlock<T> {
    if constexpr (Widens<T, Native<kType>>())
      return Widen<T, Native<kType>>;
    else
      return nullptr;
  });
}

template <class T>
NarrowRow<T> NarrowRowOf(ElementType type) {
  return DispatchType(type, []<ElementType kType>() -> NarrowRow<T> {
    using N = Native<kType>;
    if constexpr (kIsComplex<T> != kIsComplex<N> || (std::is_integral_v<T> && !std::is_integral_v<N>))
      return nullptr;
    else
      return Narrow<kType, T>;
  });
}

#define HLO_COMPUTE_TYPE(T)                            \
  template WidenBlock<T> WidenBlockOf<T>(ElementType); \
  template NarrowRow<T> NarrowRowOf<T>(ElementType);
HLO_COMPUTE_TYPES(HLO_COMPUTE_TYPE)
#undef HLO_COMPUTE_TYPE
template WidenBlock<int16_t> WidenBlockOf<int16_t>(ElementType);

}  // namespace hlo::cpu
