#pragma once
// Programs of cholesky and triangular-solve with arguments that have a factor and a solution.

#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "engines.h"
#include "fmt/format.h"

namespace hlo::test {

// Sets element (i, j) of each matrix to value(i, j, element).
template <class Value>
void Change(Literal& matrices, Value&& value) {
  const int64_t n = matrices.dim(matrices.rank() - 1), rows = matrices.dim(matrices.rank() - 2);
  DispatchType(matrices.type(), [&]<ElementType kType>() {
    using N = Native<kType>;
    auto elements = matrices.mutable_span<N>();
    for (int64_t x = 0; x < matrices.element_count(); ++x) {
      const std::complex<double> v = value(x / n % rows, x % n, ValueOf<kType>(elements[x]));
      if constexpr (requires(N e) { e.ToFloat(); })
        elements[x] = N::FromDouble(v.real());
      else if constexpr (std::is_floating_point_v<N>)
        elements[x] = static_cast<N>(v.real());
      else if constexpr (requires(N e) { e.imag(); })
        elements[x] =
            N(static_cast<typename N::value_type>(v.real()), static_cast<typename N::value_type>(v.imag()));
    }
  });
}

// Returns a tolerance of a few ULP: both engines round once.
inline CompareRule UnitsOf(ElementType type) {
  const ElementType real = IsComplex(type) ? ComponentType(type) : type;
  const double unit = real == ElementType::kF64 ? 1e-12 : real == ElementType::kF32 ? 0x1p-22 : 0x1p-7;
  return CompareRule::Close(unit, unit);
}

struct Program {
  std::string text;
  std::vector<Literal> arguments;
};

inline std::string TextOf(const std::string& type, const std::vector<int64_t>& dims) {
  return fmt::format("{}[{}]", type, fmt::join(dims, ","));
}

// Returns diagonally dominant, positive definite matrices with arbitrary values in the triangle that is not
// read. If `negative_at` >= 0, that row of the first matrix gets a negative diagonal element, so it has no
// factor.
inline Program Factors(const std::string& type, const std::vector<int64_t>& dims, bool lower,
                       int64_t negative_at = -1) {
  Literal a = RandomArray(*ParseElementType(type), dims, 3);
  const int64_t n = dims.back();
  bool is_first = true;
  Change(a, [&](int64_t i, int64_t j, std::complex<double> v) -> std::complex<double> {
    if (lower ? j > i : j < i) return 77;
    if (i != j) return v / 4.0;
    if (i == negative_at && std::exchange(is_first, false)) return -1;
    return {static_cast<double>(n) + 2, 0};
  });
  return {fmt::format("ENTRY e {{ a = {0} parameter(0) ROOT r = {0} cholesky(a), lower={1} }}",
                      TextOf(type, dims), lower),
          {a}};
}

struct Sides {
  bool left, lower, unit_diagonal;
  const char* op;
};
inline std::vector<Sides> AllSides() {
  std::vector<Sides> all;
  for (const char* op : {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}) {
    for (int bits = 0; bits < 8; ++bits)
      all.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, op});
  }
  return all;
}

inline Program Solves(const std::string& type, std::vector<int64_t> batch, int64_t n, int64_t others,
                      const Sides& sides) {
  std::vector<int64_t> a_dims = batch, b_dims = batch;
  a_dims.insert(a_dims.end(), {n, n});
  b_dims.insert(b_dims.end(), {sides.left ? n : others, sides.left ? others : n});
  const ElementType element = *ParseElementType(type);
  Literal a = RandomArray(element, a_dims, 5);
  Change(a, [&](int64_t i, int64_t j, std::complex<double> v) -> std::complex<double> {
    if (i == j) return sides.unit_diagonal ? 99 : v + (v.real() < 0 ? -1.0 : 1.0);
    return (sides.lower ? j > i : j < i) ? 77 : v / static_cast<double>(n);
  });
  return {
      fmt::format("ENTRY e {{ a = {} parameter(0) b = {} parameter(1) ROOT r = {} triangular-solve(a, b), "
                  "left_side={}, lower={}, unit_diagonal={}, transpose_a={} }}",
                  TextOf(type, a_dims), TextOf(type, b_dims), TextOf(type, b_dims), sides.left, sides.lower,
                  sides.unit_diagonal, sides.op),
      {a, RandomArray(element, b_dims, 6)}};
}

}  // namespace hlo::test
