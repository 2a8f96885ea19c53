#include "debug/shadow/shadow_value.h"

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

// Clears the sign bits of floats of this width.
template <class Bits>
absl::StatusOr<Literal> WithoutSigns(const Literal& array) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(Shape::Array(array.type(), array.dims())));
  constexpr auto kMask = static_cast<Bits>(~(Bits{1} << (8 * sizeof(Bits) - 1)));
  const auto* in = reinterpret_cast<const Bits*>(array.data());
  auto* out = reinterpret_cast<Bits*>(result.mutable_data());
  for (int64_t i = 0; i < array.element_count(); ++i) out[i] = in[i] & kMask;
  return result;
}

// True for exact floats whose wide value takes memory of its own.
bool NeedsNoWide(const ShadowValue& value) {
  return !value.is_tuple && value.is_float() && value.is_exact() && value.trials.empty() &&
         IsFloat(value.declared.type()) && value.declared.type() != ElementType::kF64;
}

}  // namespace

bool ShadowValue::is_float() const { return declared.shape().IsArray() && IsFloatOrComplex(declared.type()); }

ShadowValue NarrowShadow(const Literal& declared) {
  ShadowValue value;
  if (declared.shape().IsTuple()) {
    value.is_tuple = true;
    for (const Literal& element : declared.elements()) value.elements.push_back(NarrowShadow(element));
    return value;
  }
  value.declared = declared;
  if (value.is_float() && declared.type() == ElementType::kF64) value.wide = declared;
  return value;
}

absl::Status Materialize(ShadowValue& value) {
  for (ShadowValue* leaf : ShadowLeaves(value)) {
    if (!leaf->is_float() || leaf->wide.shape().IsValid()) continue;
    HLO_ASSIGN_OR_RETURN(leaf->wide, ToWide(leaf->declared));
  }
  return absl::OkStatus();
}

void DropExactWide(ShadowValue& value) {
  for (ShadowValue* leaf : ShadowLeaves(value)) {
    if (NeedsNoWide(*leaf)) leaf->wide = Literal();
  }
}

const Literal& WideOrDeclared(const ShadowValue& value) {
  return value.wide.shape().IsValid() ? value.wide : value.declared;
}

bool IsExact(const ShadowValue& value) {
  return value.is_tuple ? std::all_of(value.elements.begin(), value.elements.end(), IsExact)
                        : value.is_exact();
}

bool IsEstimated(const ShadowValue& value) {
  return value.is_tuple ? std::any_of(value.elements.begin(), value.elements.end(), IsEstimated)
                        : value.is_estimated;
}

bool MayDiffer(const ShadowValue& choice) { return !choice.is_exact() && Doubles(choice.bound)[0] != 0; }

void MarkEstimated(ShadowValue& value) {
  for (ShadowValue* leaf : ShadowLeaves(value)) leaf->is_estimated = true;
}

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
              DecodeSmallFloat(format, format.max_code()), format.special == Special::kIeee};
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

double ReportedUlp(const FloatPrecision& precision, double value) {
  return std::fabs(value) < precision.least_normal ? precision.least_normal : UlpAt(precision, value);
}

double RootMeanSquare(absl::Span<const double> values) {
  double largest = 0, sum = 0;
  for (const double value : values)
    largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
  if (largest == 0) return 0;
  int64_t count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += (value / largest) * (value / largest);  // Squares of large values overflow.
    ++count;
  }
  return largest * std::sqrt(sum / static_cast<double>(count));
}

bool IsFloatOrComplex(ElementType type) { return IsFloat(type) || IsComplex(type); }

absl::StatusOr<Literal> F64Array(absl::Span<const int64_t> dims, double fill) {
  HLO_ASSIGN_OR_RETURN(Literal array, Literal::Create(Shape::Array(ElementType::kF64, dims)));
  std::fill_n(array.mutable_span<double>().data(), array.element_count(), fill);
  return array;
}

absl::StatusOr<Literal> ToWide(const Literal& array) {
  return reference::Widened(array, IsComplex(array.type()) ? ElementType::kC128 : ElementType::kF64);
}

absl::StatusOr<Literal> AbsoluteOf(const Literal& array) {
  if (array.type() == ElementType::kF64) return WithoutSigns<uint64_t>(array);
  if (array.type() == ElementType::kF32) return WithoutSigns<uint32_t>(array);
  if (array.type() == ElementType::kBF16) return WithoutSigns<uint16_t>(array);
  HLO_ASSIGN_OR_RETURN(const Literal wide, ToWide(array));
  if (wide.type() == ElementType::kF64) return WithoutSigns<uint64_t>(wide);
  HLO_ASSIGN_OR_RETURN(Literal result, F64Array(wide.dims()));
  double* out = result.mutable_span<double>().data();
  for (int64_t i = 0; i < wide.element_count(); ++i) out[i] = std::abs(wide.span<std::complex<double>>()[i]);
  return result;
}

absl::StatusOr<Literal> BoundOf(const ShadowValue& value) {
  if (!value.is_exact()) return value.bound;
  return F64Array(value.declared.dims());
}

absl::StatusOr<Literal> LowOf(const ShadowValue& value) {
  if (value.low.shape().IsValid()) return value.low;
  return Literal::CreateZeros(Shape::Array(
      IsComplex(value.declared.type()) ? ElementType::kC128 : ElementType::kF64, value.declared.dims()));
}

}  // namespace hlo::debug
