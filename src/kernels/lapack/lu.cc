#include "kernels/lapack/lu.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/arithmetic.h"
#include "kernels/lapack/divisor.h"
#include "kernels/lapack/scratch.h"
#include "kernels/lapack/triangular.h"

namespace hlo::lapack {
namespace {

// Number of columns that are factored without matrix products.
constexpr int64_t kPanel = 16;

// Returns the index of the first element of largest magnitude; NaNs other than the first element are ignored.
template <class T>
int64_t Largest(const T* elements, int64_t count) {
  constexpr int kLanes = 16;
  double most[kLanes];
  std::fill_n(most, kLanes, PivotSize(elements[0]));
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double size = PivotSize(elements[i + lane]);
      most[lane] = size > most[lane] ? size : most[lane];
    }
  }
  for (; i < count; ++i) most[0] = std::max(most[0], PivotSize(elements[i]));
  const double largest = *std::max_element(most, most + kLanes);
  for (i = 0; i < count; ++i) {
    if (PivotSize(elements[i]) == largest) return i;
  }
  return 0;
}

// Factors a few columns, copied to column-major storage.
template <class T>
int64_t FactorLuPanel(const Matrix<T>& a, absl::Span<int64_t> pivots) {
  const int64_t m = a.rows, n = a.columns;
  const Scratch<T> panel(m * n);
  const auto column = [&](int64_t j) { return panel.data() + j * m; };
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) column(j)[i] = a(i, j);
  }
  int64_t zero = 0;
  for (int64_t j = 0; j < static_cast<int64_t>(pivots.size()); ++j) {
    T* const x = column(j);
    const int64_t p = pivots[j] = j + Largest(x + j, m - j);
    if (x[p] == T(0)) {
      if (zero == 0) zero = j + 1;
      continue;
    }
    for (int64_t c = 0; c < n; ++c) std::swap(column(c)[j], column(c)[p]);
    const Divisor<T> pivot(x[j]);
    for (int64_t i = j + 1; i < m; ++i) x[i] = pivot.Divide(x[i]);
    for (int64_t c = j + 1; c < n; ++c) {
      T* const y = column(c);
      const T factor = y[j];
      for (int64_t i = j + 1; i < m; ++i) y[i] -= factor * x[i];
    }
  }
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) a(i, j) = column(j)[i];
  }
  return zero;
}

template <class T>
void ExchangeRows(const Matrix<T>& a, absl::Span<const int64_t> pivots) {
  for (int64_t i = 0; i < static_cast<int64_t>(pivots.size()); ++i) {
    if (pivots[i] != i) std::swap_ranges(&a(i, 0), &a(i, 0) + a.columns, &a(pivots[i], 0));
  }
}

// Solves for the columns of u right of the panel; their rows are already permuted.
template <class T>
void SolveRight(const Matrix<T>& factors, const Matrix<T>& right) {
  SolveTriangular(Plain(factors), right, {.left = true, .lower = true, .unit_diagonal = true});
}

}  // namespace

template <class T>
int64_t Lu(const Matrix<T>& a, absl::Span<int64_t> pivots) {
  const int64_t m = a.rows, n = a.columns, k = std::min(m, n);
  if (k == 0) return 0;
  if (n <= kPanel) return FactorLuPanel(a, pivots);
  const int64_t h = m < n ? std::min(m, n - 1) : RoundUp(n / 2, kPanel);
  const Matrix<T> left = a.Block(0, 0, m, h), right = a.Block(0, h, m, n - h);
  const int64_t first = Lu(left, pivots.first(h));
  ExchangeRows(right, absl::Span<const int64_t>(pivots.first(h)));
  const Matrix<T> above = right.Block(0, 0, h, n - h), below = right.Block(h, 0, m - h, n - h);
  SolveRight(a.Block(0, 0, h, h), above);
  if (m == h) return first;
  SubtractProduct(Plain(a.Block(h, 0, m - h, h)), Plain(above), below);
  const absl::Span<int64_t> rest = pivots.subspan(h);
  const int64_t second = Lu(below, rest);
  ExchangeRows(a.Block(h, 0, m - h, h), absl::Span<const int64_t>(rest));
  for (int64_t& pivot : rest) pivot += h;
  return first != 0 || second == 0 ? first : h + second;
}

int64_t LuScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes) {
  return rows * std::min(columns, kPanel) * element_bytes;
}

template int64_t Lu(const Matrix<double>&, absl::Span<int64_t>);
template int64_t Lu(const Matrix<Complex>&, absl::Span<int64_t>);

}  // namespace hlo::lapack
