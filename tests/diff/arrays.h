#pragma once
// Arrays of any element type for tests of kernels, and their values as wide numbers.

#include <complex>
#include <cstdint>
#include <random>
#include <vector>

#include "hlo_run/literal.h"
#include "types/dispatch.h"

namespace hlo::test {

template <ElementType kType>
std::complex<double> ValueOf(Native<kType> x) {
  using N = Native<kType>;
  if constexpr (requires { x.ToFloat(); })
    return x.ToFloat();
  else if constexpr (std::is_same_v<N, std::complex<float>> || std::is_same_v<N, std::complex<double>>)
    return std::complex<double>(x);
  else
    return static_cast<double>(x);
}

// Returns small values of every type: floats in [-2, 2], integers in their range but at most +-1000.
inline Literal RandomArray(ElementType type, std::vector<int64_t> dims, uint32_t seed) {
  absl::StatusOr<Literal> array = Literal::Create(Shape::Array(type, dims));
  std::mt19937 random(seed);
  DispatchType(type, [&]<ElementType kType>() {
    using N = Native<kType>;
    std::uniform_real_distribution<double> uniform(-2, 2);
    for (N& x : array->mutable_span<N>()) {
      if constexpr (requires(N n) { n.ToFloat(); }) {
        x = N::FromDouble(uniform(random));
      } else if constexpr (std::is_same_v<N, std::complex<float>> ||
                           std::is_same_v<N, std::complex<double>>) {
        using R = typename N::value_type;
        const auto re = static_cast<R>(uniform(random));
        x = N(re, static_cast<R>(uniform(random)));
      } else if constexpr (std::is_floating_point_v<N>) {
        x = static_cast<N>(uniform(random));
      } else if constexpr (std::is_same_v<N, bool>) {
        x = random() % 4 == 0;
      } else {
        const int64_t range = BitWidth(type) < 8 ? int64_t{1} << BitWidth(type) : 256;
        const int64_t value = static_cast<int64_t>(random() % static_cast<uint64_t>(range));
        x = static_cast<N>(IsSigned(type) ? value - range / 2 : value);
      }
    }
  });
  return *std::move(array);
}

inline std::complex<double> At(const Literal& array, int64_t i) {
  return DispatchType(array.type(),
                      [&]<ElementType kType>() { return ValueOf<kType>(array.span<Native<kType>>()[i]); });
}
inline std::vector<std::complex<double>> Values(const Literal& array) {
  std::vector<std::complex<double>> values;
  for (int64_t i = 0; i < array.element_count(); ++i) values.push_back(At(array, i));
  return values;
}
// Returns an integer's value modulo 2^64.
inline uint64_t BitsAt(const Literal& array, int64_t i) {
  return DispatchType(array.type(), [&]<ElementType kType>() -> uint64_t {
    if constexpr (std::is_integral_v<Native<kType>>)
      return static_cast<uint64_t>(array.span<Native<kType>>()[i]);
    else
      return 0;
  });
}

// Returns the machine epsilon of a floating type, or of the parts of a complex type.
inline double Epsilon(ElementType type) {
  switch (ComponentType(type)) {
    case ElementType::kF64:
      return 0x1p-52;
    case ElementType::kF32:
      return 0x1p-23;
    case ElementType::kF16:
      return 0x1p-10;
    case ElementType::kBF16:
      return 0x1p-7;
    case ElementType::kF8E4M3FN:
      return 0x1p-3;
    default:
      return 0x1p-2;
  }
}

// Returns the value of an integer of this type after wrapping.
inline std::complex<double> Wrapped(uint64_t bits, ElementType type) {
  const int shift = 64 - static_cast<int>(BitWidth(type));
  if (IsSigned(type)) return static_cast<double>(static_cast<int64_t>(bits << shift) >> shift);
  return static_cast<double>(bits << shift >> shift);
}

}  // namespace hlo::test
