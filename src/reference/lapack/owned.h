#pragma once
// This file defines matrices that own their elements, which are zero initially.

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "types/matrix.h"

namespace hlo::reference::lapack {

template <class T>
struct Owned {
  Owned(int64_t rows, int64_t columns) : Owned(rows, columns, columns) {}
  Owned(int64_t rows, int64_t columns, int64_t row_stride)
      : elements(rows * row_stride), view{elements.data(), rows, columns, row_stride, 1} {}

  std::vector<T> elements;
  Matrix<T> view;
};

// Calls f(i, j) for all elements of a matrix, by rows.
template <class T, class F>
void EachElement(const Matrix<T>& a, F&& f) {
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) f(i, j);
  }
}

// Sets a matrix, which may have no data, to multiples of the identity and of the matrix of ones.
template <class T>
void Fill(const Matrix<T>& a, T off_diagonal, T diagonal) {
  if (a.data == nullptr) return;
  EachElement(a, [&](int64_t i, int64_t j) { a(i, j) = i == j ? diagonal : off_diagonal; });
}

// Returns the largest absolute component; infinity if one is not finite.
template <class T>
double LargestElement(const Matrix<T>& a) {
  double largest = 0;
  bool is_finite = true;
  EachElement(a, [&](int64_t i, int64_t j) {
    const double re = std::abs(std::real(a(i, j))), im = std::abs(std::imag(a(i, j)));
    is_finite &= std::isfinite(re) && std::isfinite(im);
    largest = std::max({largest, re, im});
  });
  return is_finite ? largest : std::numeric_limits<double>::infinity();
}

// Sets values and vectors that do not exist to NaN and returns 1.
template <class V, class... T>
int64_t NoSolution(absl::Span<V> values, const Matrix<T>&... vectors) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  std::fill(values.begin(), values.end(), V(kNan));
  (Fill(vectors, T(kNan), T(kNan)), ...);
  return 1;
}

}  // namespace hlo::reference::lapack
