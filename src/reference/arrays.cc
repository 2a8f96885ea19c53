#include "reference/arrays.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "base/status.h"
#include "types/wide.h"

namespace hlo::reference {
namespace {

// Truncated toward zero, and the type's extreme where it does not fit; NaN becomes 0.
int64_t Saturated(double value, int64_t bits, bool is_signed) {
  if (std::isnan(value)) return 0;
  const double limit = std::ldexp(1.0, static_cast<int>(is_signed ? bits - 1 : bits));
  if (value >= limit) return static_cast<int64_t>(~uint64_t{0} >> (64 - (is_signed ? bits - 1 : bits)));
  if (value <= (is_signed ? -limit : 0)) return is_signed ? SignExtend(int64_t{1} << (bits - 1), bits) : 0;
  return is_signed ? static_cast<int64_t>(value) : static_cast<int64_t>(static_cast<uint64_t>(value));
}

// `bits` is the width of the element type for which the value is meant.
template <Wide To, Wide From>
To Between(From value, int64_t bits) {
  constexpr bool kFromComplex = std::is_same_v<From, std::complex<double>>;
  if constexpr (std::is_same_v<To, From>)
    return value;
  else if constexpr (std::is_same_v<To, std::complex<double>>)
    return static_cast<double>(value);
  else if constexpr (kFromComplex)
    return Between<To>(value.real(), bits);
  else if constexpr (std::is_same_v<From, double> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    return static_cast<To>(Saturated(value, bits, std::is_signed_v<To>));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace

absl::StatusOr<Literal> Widened(const Literal& array, ElementType wide_type) {
  if (array.type() == wide_type) return array;
  Shape shape = Shape::Array(wide_type, array.dims());
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(shape));
  DispatchWide(array.type(), [&]<class From>() {
    const LoadFn<From> load = Loader<From>(array.type());
    DispatchWide(wide_type, [&]<class To>() {
      To* out = result.mutable_span<To>().data();
      for (int64_t i = 0; i < array.element_count(); ++i) out[i] = Between<To>(load(array.data(), i), 64);
    });
  });
  return result;
}

absl::StatusOr<Literal> Rounded(const Literal& wide, const Shape& shape) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(shape));
  DispatchWide(wide.type(), [&]<class From>() {
    const From* in = wide.span<From>().data();
    DispatchWide(shape.type(), [&]<class To>() {
      const StoreFn<To> store = Storer<To>(shape.type());
      const int64_t bits = BitWidth(shape.type());
      for (int64_t i = 0; i < wide.element_count(); ++i)
        store(result.mutable_data(), i, Between<To>(in[i], bits));
    });
  });
  return result;
}

absl::StatusOr<Literal> WithType(const Literal& array, ElementType type) {
  if (array.type() == type) return array;
  Shape shape = array.shape();
  shape.set_type(type);
  return DispatchWide(array.type(), [&]<class W>() -> absl::StatusOr<Literal> {
    HLO_ASSIGN_OR_RETURN(const Literal wide, Widened(array, WideType<W>()));
    return Rounded(wide, shape);
  });
}

absl::StatusOr<Literal> AsIndices(const Literal& array) {
  if (!IsUnsigned(array.type())) return Widened(array, ElementType::kS64);
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(Shape::Array(ElementType::kS64, array.dims())));
  const LoadFn<uint64_t> load = Loader<uint64_t>(array.type());
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
  for (int64_t i = 0; i < array.element_count(); ++i) {
    result.mutable_span<int64_t>()[i] = static_cast<int64_t>(std::min(load(array.data(), i), kLargest));
  }
  return result;
}

absl::StatusOr<Literal> Transposed(const Literal& array, absl::Span<const int64_t> permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return array;
  const View view = View::Dense(array.dims()).Permuted(permutation);
  return Copied(array, view, Shape::Array(array.type(), view.dims));
}

absl::StatusOr<Literal> Copied(const Literal& array, const View& from, const Shape& shape) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(shape));
  CopyElements(ByteCount(array.type()), array.data(), from, result.mutable_data(),
               View::Dense(result.dims()));
  return result;
}

}  // namespace hlo::reference
