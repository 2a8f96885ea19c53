#include "reference/arrays.h"

#include <algorithm>
#include <complex>
#include <limits>

#include "base/check.h"
#include "base/status.h"
#include "reference/elementwise.h"
#include "types/scalar_ops.h"
#include "types/wide.h"

namespace hlo::reference {
namespace {

// `bits` is the width of the target element type.
template <Wide To, Wide From>
To Between(From value, int64_t bits) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, std::complex<double>>) {
    return Between<To>(value.real(), bits);
  } else if constexpr (std::is_same_v<From, double> && std::is_same_v<To, int64_t>) {
    return scalar::ToSigned(value, static_cast<int>(bits));
  } else if constexpr (std::is_same_v<From, double> && std::is_same_v<To, uint64_t>) {
    return scalar::ToUnsigned(value, static_cast<int>(bits));
  } else if constexpr (std::is_same_v<To, std::complex<double>>) {
    return static_cast<double>(value);
  } else {
    return static_cast<To>(value);
  }
}

// Loads by the element type are slower.
template <class T>
void LoadFloats(const Literal& array, int64_t first, int64_t count, double* out) {
  const T* in = array.span<T>().data() + first;
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, float>)
      out[i] = in[i];
    else
      out[i] = in[i].ToFloat();
  }
}

}  // namespace

template <Wide W>
void LoadWide(const Literal& array, int64_t first, int64_t count, W* out) {
  if constexpr (std::is_same_v<W, double>) {
    if (array.type() == ElementType::kF32) return LoadFloats<float>(array, first, count, out);
    if (array.type() == ElementType::kBF16) return LoadFloats<bfloat16>(array, first, count, out);
  }
  DispatchWide(array.type(), [&]<class From>() {
    const LoadFn<From> load = Loader<From>(array.type());
    for (int64_t i = 0; i < count; ++i) out[i] = Between<W>(load(array.data(), first + i), 64);
  });
}
template void LoadWide(const Literal& array, int64_t first, int64_t count, bool* out);
template void LoadWide(const Literal& array, int64_t first, int64_t count, int64_t* out);
template void LoadWide(const Literal& array, int64_t first, int64_t count, uint64_t* out);
template void LoadWide(const Literal& array, int64_t first, int64_t count, double* out);
template void LoadWide(const Literal& array, int64_t first, int64_t count, std::complex<double>* out);

absl::StatusOr<Literal> Widened(const Literal& array, ElementType wide_type) {
  if (array.type() == wide_type) return array;
  Shape shape = Shape::Array(wide_type, array.dims());
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(shape));
  DispatchWide(wide_type, [&]<class To>() {
    LoadWide(array, 0, array.element_count(), result.mutable_span<To>().data());
  });
  return result;
}

absl::StatusOr<Literal> WithZeroedRest(const Shape& shape, Literal first) {
  if (!shape.IsTuple()) return first;
  std::vector<Literal> results = {std::move(first)};
  for (const Shape& element : shape.elements().subspan(1)) {
    HLO_ASSIGN_OR_RETURN(Literal zeros, Literal::CreateZeros(element));
    results.push_back(std::move(zeros));
  }
  return Literal::Tuple(std::move(results));
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
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(shape));
  const ScalarStep convert = ConvertStep(array.type(), type);
  const ScalarLoad load = ScalarLoader(array.type());
  const ScalarStore store = ScalarStorer(type);
  for (int64_t i = 0; i < array.element_count(); ++i)
    store(result.mutable_data(), i, convert(load(array.data(), i)));
  return result;
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

absl::StatusOr<Literal> WideZeros(const Index& dims) {
  return Literal::CreateZeros(Shape::Array(ElementType::kF64, dims));
}

absl::StatusOr<Literal> Copied(const Literal& array, const View& from, const Shape& shape) {
  HLO_CHECK(ByteCount(array.type()) == ByteCount(shape.type()));
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(shape));
  CopyElements(ByteCount(array.type()), array.data(), from, result.mutable_data(),
               View::Dense(result.dims()));
  return result;
}

}  // namespace hlo::reference
