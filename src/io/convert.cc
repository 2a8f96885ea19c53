#include "io/convert.h"

#include <cmath>
#include <limits>
#include <optional>

#include "base/status.h"
#include "fmt/format.h"
#include "io/stored_type.h"
#include "types/bounds.h"
#include "types/index.h"
#include "types/wide.h"

namespace hlo::io {
namespace {

// Returns a real value as double; nullopt for complex values with an imaginary part.
template <Wide From>
std::optional<double> RealPart(From value) {
  if constexpr (std::is_same_v<From, std::complex<double>>) {
    return value.imag() == 0 ? std::optional<double>(value.real()) : std::nullopt;
  } else {
    return static_cast<double>(value);
  }
}

// Return the smallest and the largest value of an integer type.
int64_t LowestOf(ElementType type) {
  return IsSigned(type) ? std::numeric_limits<int64_t>::min() >> (64 - BitWidth(type)) : 0;
}
uint64_t LargestOf(ElementType type) {
  return std::numeric_limits<uint64_t>::max() >> (64 - BitWidth(type) + (IsSigned(type) ? 1 : 0));
}

template <Wide From>
bool IsWithin(From value, int64_t least, uint64_t largest) {
  if constexpr (std::is_same_v<From, uint64_t> || std::is_same_v<From, bool>) {
    return value <= largest;
  } else if constexpr (std::is_same_v<From, int64_t>) {
    return value >= least && (value < 0 || static_cast<uint64_t>(value) <= largest);
  } else {
    const std::optional<double> real = RealPart(value);
    const auto half = largest / 2 + 1;  // `largest` is 2^n - 1, which may round up to 2^n as a double.
    return real && *real == std::trunc(*real) && *real >= static_cast<double>(least) &&
           *real < std::ldexp(static_cast<double>(half), 1);
  }
}

template <Wide To, Wide From>
std::optional<To> ToInteger(From value, ElementType type) {
  const uint64_t largest = IsPred(type) ? 1 : LargestOf(type);
  if (!IsWithin(value, IsPred(type) ? 0 : LowestOf(type), largest)) return std::nullopt;
  if constexpr (std::is_same_v<From, std::complex<double>>) {
    return static_cast<To>(value.real());
  } else {
    return static_cast<To>(value);
  }
}

// Rounds a value to a real type; nullopt if the type cannot represent it.
std::optional<double> ToReal(double value, ElementType type) {
  const double rounded = RoundTo<double>(type, value);
  if (std::isnan(value)) return std::isnan(rounded) ? std::optional<double>(value) : std::nullopt;
  if (std::isinf(value)) return std::isinf(rounded) ? std::optional<double>(value) : std::nullopt;
  if (!std::isfinite(rounded)) return std::nullopt;
  const double largest =
      RoundTo<double>(type, std::numeric_limits<double>::max());  // The largest value of types that saturate.
  if (std::isfinite(largest) && std::abs(value) > largest && BitWidth(type) < 64) return std::nullopt;
  return value;
}

template <Wide To, Wide From>
std::optional<To> ConvertOne(From value, ElementType type) {
  if constexpr (std::is_same_v<To, double>) {
    const std::optional<double> real = RealPart(value);
    return real ? ToReal(*real, type) : std::nullopt;
  } else if constexpr (std::is_same_v<To, std::complex<double>>) {
    const std::complex<double> wide = [&] {
      if constexpr (std::is_same_v<From, std::complex<double>>) return value;
      return std::complex<double>(*RealPart(value), 0);
    }();
    const ElementType part = ComponentType(type);
    const std::optional<double> re = ToReal(wide.real(), part), im = ToReal(wide.imag(), part);
    return re && im ? std::optional<To>(wide) : std::nullopt;
  } else {
    return ToInteger<To>(value, type);
  }
}

std::string IndexText(const Literal& array, int64_t position) {
  std::vector<int64_t> index(static_cast<size_t>(array.rank()));
  for (int64_t d = array.rank() - 1; d >= 0; --d) {
    index[static_cast<size_t>(d)] = position % array.dim(d);
    position /= array.dim(d);
  }
  return fmt::format("{{{}}}", fmt::join(index, ","));
}

// True if the element is within the run-time sizes.
bool IsUsed(const Literal& array, int64_t position) {
  if (!array.has_dynamic_sizes()) return true;
  for (int64_t d = array.rank() - 1; d >= 0; --d) {
    if (position % array.dim(d) >= array.dynamic_size(d)) return false;
    position /= array.dim(d);
  }
  return true;
}

template <Wide To, Wide From>
absl::Status ConvertInto(const Literal& array, Literal* out) {
  const LoadFn<From> load = Loader<From>(array.type());
  const StoreFn<To> store = Storer<To>(out->type());
  for (int64_t i = 0; i < array.element_count(); ++i) {
    if (!IsUsed(array, i)) {
      store(out->mutable_data(), i, To{});
      continue;
    }
    const std::optional<To> value = ConvertOne<To>(load(array.data(), i), out->type());
    if (!value) {
      std::string text;
      AppendElement(array, i, /*in_array=*/false, {}, &text);
      return absl::FailedPreconditionError(
          fmt::format("cannot be converted from {} to {}: the element at {} is {}", Name(array.type()),
                      Name(out->type()), IndexText(array, i), text));
    }
    store(out->mutable_data(), i, *value);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Literal> ConvertElements(const Literal& array, ElementType type) {
  if (array.type() == type) return array;
  Shape shape = array.shape();
  shape.set_type(type);
  shape.clear_layout();
  HLO_ASSIGN_OR_RETURN(Literal out, Literal::Create(shape));
  for (int64_t d = 0; d < array.rank(); ++d) {
    if (array.dynamic_size(d) != array.dim(d)) out.set_dynamic_size(d, array.dynamic_size(d));
  }
  HLO_RETURN_IF_ERROR(DispatchWide(array.type(), [&]<class From>() {
    return DispatchWide(type, [&]<class To>() { return ConvertInto<To, From>(array, &out); });
  }));
  return out;
}

namespace {

absl::Status Unfitting(const Literal& value, const Shape& expected) {
  const bool same_sizes = value.shape().IsArray() && expected.IsArray() && DimsFit(value.dims(), expected);
  return absl::FailedPreconditionError(fmt::format("found {}, expected {}{}", ToString(value.shape()),
                                                   ToString(expected), same_sizes ? kConvertHint : ""));
}

absl::StatusOr<Literal> FitArray(const Literal& value, const Shape& expected, const ReadOptions& options) {
  if (value.type() != expected.type()) {
    if (!options.convert) return Unfitting(value, expected);
    HLO_ASSIGN_OR_RETURN(const Literal converted, ConvertElements(value, expected.type()));
    return FitArray(converted, expected, options);
  }
  const bool is_same = Equal(value.shape(), expected, {.ignore_layout = true, .ignore_dynamic = true});
  const bool is_bounded = expected.HasDynamicDim() && !expected.HasUnboundedDim();
  if (is_same && (!is_bounded || value.shape().HasDynamicDim())) return value;
  if (!is_bounded) return Unfitting(value, expected);
  HLO_ASSIGN_OR_RETURN(const Literal dense, WithoutPadding(value));
  if (!DimsFit(dense.dims(), expected)) return Unfitting(value, expected);
  return PaddedToBounds(dense, expected);
}

}  // namespace

absl::StatusOr<Literal> FitTo(const Literal& value, const Shape& expected, const ReadOptions& options) {
  if (value.shape().IsArray() && (expected.IsArray() || expected.IsBuffer())) {
    return FitArray(value, expected.IsBuffer() ? expected.element(0) : expected, options);
  }
  const size_t count = expected.IsTuple() ? expected.elements().size() : 0;
  if (value.shape().IsTuple() && expected.IsTuple() && value.elements().size() == count) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < count; ++i) {
      HLO_ASSIGN_OR_RETURN(Literal element, FitTo(value.elements()[i], expected.elements()[i], options));
      elements.push_back(std::move(element));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (Equal(value.shape(), expected, {.ignore_layout = true, .ignore_dynamic = true})) return value;
  return Unfitting(value, expected);
}

}  // namespace hlo::io
