#include "debug/shadow_value.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <complex>

#include "base/status.h"
#include "reference/arrays.h"
#include "types/dispatch.h"

namespace hlo::debug {

namespace {

// Loads by the element type are slower, and the rules widen each declared array.
template <class T>
absl::StatusOr<Literal> WidenedTo64(const Literal& array) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(Shape::Array(ElementType::kF64, array.dims())));
  const T* in = array.span<T>().data();
  double* out = result.mutable_span<double>().data();
  for (int64_t i = 0; i < result.element_count(); ++i) {
    if constexpr (std::is_same_v<T, float>)
      out[i] = in[i];
    else
      out[i] = in[i].ToFloat();
  }
  return result;
}

}  // namespace

absl::StatusOr<ShadowValue> ExactShadow(const Literal& declared) {
  ShadowValue value;
  if (declared.shape().IsTuple()) {
    value.is_tuple = true;
    for (const Literal& element : declared.elements()) {
      HLO_ASSIGN_OR_RETURN(ShadowValue shadow, ExactShadow(element));
      value.elements.push_back(std::move(shadow));
    }
    return value;
  }
  value.declared = declared;
  if (declared.shape().IsArray() && IsFloatOrComplex(declared.type())) {
    HLO_ASSIGN_OR_RETURN(value.wide, ToWide(declared));
  }
  return value;
}

Literal Declared(const ShadowValue& value) {
  if (!value.is_tuple) return value.declared;
  std::vector<Literal> elements;
  for (const ShadowValue& element : value.elements) elements.push_back(Declared(element));
  return Literal::Tuple(std::move(elements));
}

std::vector<ShadowValue*> ShadowLeaves(ShadowValue& value) {
  if (!value.is_tuple)
    return value.declared.shape().IsArray() ? std::vector<ShadowValue*>{&value} : std::vector<ShadowValue*>();
  std::vector<ShadowValue*> leaves;
  for (ShadowValue& element : value.elements) {
    const std::vector<ShadowValue*> inner = ShadowLeaves(element);
    leaves.insert(leaves.end(), inner.begin(), inner.end());
  }
  return leaves;
}

FloatPrecision PrecisionOf(ElementType type) {
  switch (ComponentType(type)) {
    case ElementType::kF32:
      return {FLT_EPSILON, FLT_MIN, FLT_MAX};
    case ElementType::kF64:
      return {DBL_EPSILON, DBL_MIN, DBL_MAX};
    default:
      break;
  }
  return DispatchType(type, []<ElementType kType>() -> FloatPrecision {
    if constexpr (requires { Native<kType>::format(); }) {
      const FloatFormat& format = Native<kType>::format();
      return {std::ldexp(1.0, -format.mantissa_bits), std::ldexp(1.0, 1 - format.bias),
              DecodeSmallFloat(format, format.max_code())};
    } else {
      return {1, 1, DBL_MAX};
    }
  });
}

double UlpAt(const FloatPrecision& precision, double value) {
  const double magnitude = std::max(std::fabs(value), precision.least_normal);
  // Without its mantissa a number is the power of two below it.
  constexpr uint64_t kExponent = uint64_t{0x7ff} << 52;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(magnitude) & kExponent) * precision.epsilon;
}

bool IsFloatOrComplex(ElementType type) { return IsFloat(type) || IsComplex(type); }

absl::StatusOr<Literal> F64Array(absl::Span<const int64_t> dims, double fill) {
  HLO_ASSIGN_OR_RETURN(Literal array, Literal::Create(Shape::Array(ElementType::kF64, dims)));
  std::fill_n(array.mutable_span<double>().data(), array.element_count(), fill);
  return array;
}

absl::StatusOr<Literal> ToWide(const Literal& array) {
  if (array.type() == ElementType::kF32) return WidenedTo64<float>(array);
  if (array.type() == ElementType::kBF16) return WidenedTo64<bfloat16>(array);
  return reference::Widened(array, IsComplex(array.type()) ? ElementType::kC128 : ElementType::kF64);
}

absl::StatusOr<Literal> AbsoluteOf(const Literal& wide) {
  HLO_ASSIGN_OR_RETURN(Literal result, F64Array(wide.dims()));
  double* out = result.mutable_span<double>().data();
  for (int64_t i = 0; i < wide.element_count(); ++i) {
    out[i] = wide.type() == ElementType::kC128 ? std::abs(wide.span<std::complex<double>>()[i])
                                               : std::fabs(wide.span<double>()[i]);
  }
  return result;
}

absl::StatusOr<Literal> BoundOf(const ShadowValue& value) {
  if (!value.is_exact()) return value.bound;
  return F64Array(value.declared.dims());
}

}  // namespace hlo::debug
