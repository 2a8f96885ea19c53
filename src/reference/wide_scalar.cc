#include "reference/wide_scalar.h"

#include <bit>
#include <cmath>

#include "types/dispatch.h"

namespace hlo::reference {
namespace {

constexpr FloatFormat kF32Format{8, 23, 127, Special::kIeee};

template <ElementType kType>
constexpr const FloatFormat& Format() {
  if constexpr (kType == ElementType::kF32)
    return kF32Format;
  else
    return Native<kType>::format();
}

// Converts a NaN with its sign and mantissa to double.
double WidenNan(const FloatFormat& format, uint64_t code) {
  const uint64_t sign = code >> (format.exponent_bits + format.mantissa_bits);
  const uint64_t mantissa = code & ((uint64_t{1} << format.mantissa_bits) - 1);
  return std::bit_cast<double>(sign << 63 | uint64_t{0x7ff} << 52 | mantissa << (52 - format.mantissa_bits));
}

uint64_t NarrowNan(const FloatFormat& format, double nan) {
  const auto bits = std::bit_cast<uint64_t>(nan);
  uint64_t mantissa = (bits & ((uint64_t{1} << 52) - 1)) >> (52 - format.mantissa_bits);
  if (mantissa == 0) mantissa = uint64_t{1} << (format.mantissa_bits - 1);
  const uint64_t exponent = (uint64_t{1} << format.exponent_bits) - 1;
  return (bits >> 63) << (format.exponent_bits + format.mantissa_bits) | exponent << format.mantissa_bits |
         mantissa;
}

template <class T>
uint32_t Bits(const T& value) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<uint32_t>(value);
  else
    return value.bits;
}

template <ElementType kType>
double WidenFloat(const Native<kType>& value) {
  using T = Native<kType>;
  double wide = 0;
  if constexpr (std::is_floating_point_v<T>)
    wide = value;
  else
    wide = value.ToFloat();
  if constexpr (!std::is_same_v<T, double>) {
    if (Format<kType>().special == Special::kIeee && std::isnan(wide)) [[unlikely]]
      return WidenNan(Format<kType>(), Bits(value));
  }
  return wide;
}

template <ElementType kType>
Native<kType> NarrowFloat(double wide) {
  using T = Native<kType>;
  if constexpr (std::is_same_v<T, double>) {
    return wide;
  } else {
    if (Format<kType>().special == Special::kIeee && std::isnan(wide)) [[unlikely]] {
      const uint64_t code = NarrowNan(Format<kType>(), wide);
      if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<float>(static_cast<uint32_t>(code));
      else
        return T{static_cast<decltype(T::bits)>(code)};
    }
    if constexpr (std::is_same_v<T, float>)
      return static_cast<float>(wide);
    else
      return T::FromFloat(static_cast<float>(wide));
  }
}

template <ElementType kType>
WideScalar Load(const void* data, int64_t i) {
  using T = Native<kType>;
  const T& value = static_cast<const T*>(data)[i];
  WideScalar result;
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    result.s = value;
  } else if constexpr (std::is_integral_v<T>) {
    result.u = value;
  } else if constexpr (requires { value.real(); }) {
    result.f = value.real();
    result.imag = value.imag();
  } else {
    result.f = WidenFloat<kType>(value);
  }
  return result;
}

template <ElementType kType>
void Store(void* data, int64_t i, const WideScalar& value) {
  using T = Native<kType>;
  T& out = static_cast<T*>(data)[i];
  if constexpr (std::is_same_v<T, bool>) {
    out = value.u != 0;
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    out = static_cast<T>(SignExtend(value.s, Info(kType).bits));
  } else if constexpr (std::is_integral_v<T>) {
    out = static_cast<T>(ZeroExtend(value.u, Info(kType).bits));
  } else if constexpr (requires { out.real(); }) {
    using Part = typename T::value_type;
    out = T(static_cast<Part>(value.f), static_cast<Part>(value.imag));
  } else {
    out = NarrowFloat<kType>(value.f);
  }
}

constexpr ScalarLoad kLoad[] = {
#define HLO_ELEMENT_TYPE(name, text, bits, storage, type_class, number) &Load<ElementType::k##name>,
#include "hlo_run/element_types.def"
#undef HLO_ELEMENT_TYPE
};
constexpr ScalarStore kStore[] = {
#define HLO_ELEMENT_TYPE(name, text, bits, storage, type_class, number) &Store<ElementType::k##name>,
#include "hlo_run/element_types.def"
#undef HLO_ELEMENT_TYPE
};

double RoundToF32(double value) { return static_cast<float>(value); }
double Keep(double value) { return value; }

template <ElementType kType>
double RoundSmall(double value) {
  return WidenFloat<kType>(Native<kType>::FromFloat(static_cast<float>(value)));
}
template <ElementType kType>
double ConvertSmall(double value) {
  return WidenFloat<kType>(Native<kType>::FromDouble(value));
}

// Returns the rounding of a type; `small` provides it for types that C++ lacks.
template <class Small>
ScalarRound Round(ElementType type, Small small) {
  return DispatchType(type, [&]<ElementType kType>() -> ScalarRound {
    using T = Native<kType>;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, std::complex<float>>)
      return &RoundToF32;
    else if constexpr (requires { T::format(); })
      return small.template operator()<kType>();
    else
      return &Keep;
  });
}

}  // namespace

ScalarLoad ScalarLoader(ElementType type) { return kLoad[static_cast<size_t>(type)]; }
ScalarStore ScalarStorer(ElementType type) { return kStore[static_cast<size_t>(type)]; }

WideScalar LoadScalar(const Literal& literal, int64_t i) {
  return ScalarLoader(literal.type())(literal.data(), i);
}
void StoreScalar(Literal& literal, int64_t i, const WideScalar& value) {
  ScalarStorer(literal.type())(literal.mutable_data(), i, value);
}

ScalarRound ArithmeticRound(ElementType type) {
  return Round(type, []<ElementType kType>() -> ScalarRound { return &RoundSmall<kType>; });
}
ScalarRound ConversionRound(ElementType type) {
  return Round(type, []<ElementType kType>() -> ScalarRound { return &ConvertSmall<kType>; });
}

}  // namespace hlo::reference
