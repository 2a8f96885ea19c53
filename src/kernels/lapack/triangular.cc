#include "kernels/lapack/triangular.h"

#include <algorithm>
#include <cmath>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "base/raw_array.h"
#include "kernels/cpu/simd/widen.h"
#include "kernels/lapack/divisor.h"
#include "kernels/lapack/lanes.h"

namespace hlo::lapack {
namespace {

// Number of rows and columns that are computed without matrix products.
constexpr int64_t kBlock = 64;

// Returns the size of the first half of the rows, a multiple of the block size.
int64_t LeadingRows(int64_t rows) { return RoundUp(rows / 2, kBlock); }

// --- Positive definite matrices

// Subtracts the previous columns, times their elements in row j, from `column`, from row j on.
template <class T>
void SubtractColumns(const T (*l)[kBlock], int64_t j, int64_t n, T* column) {
  int64_t k = 0;
  for (; k + 4 <= j; k += 4) {
    const T s0 = Conj(l[k][j]), s1 = Conj(l[k + 1][j]), s2 = Conj(l[k + 2][j]), s3 = Conj(l[k + 3][j]);
    for (int64_t i = j; i < n; ++i)
      column[i] -= (s0 * l[k][i] + s1 * l[k + 1][i]) + (s2 * l[k + 2][i] + s3 * l[k + 3][i]);
  }
  for (; k < j; ++k) {
    const T s = Conj(l[k][j]);
    for (int64_t i = j; i < n; ++i) column[i] -= s * l[k][i];
  }
}

// Computes the Cholesky factor of a single block.
template <class T>
int64_t FactorBlock(const Matrix<T>& a) {
  RawArray<T[kBlock], kBlock> columns;
  T(*l)[kBlock] = columns.data();  // Column j starts at its diagonal element.
  const int64_t n = a.rows;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) l[j][i] = a(i, j);
  }
  int64_t failed = 0;
  for (int64_t j = 0; j < n && failed == 0; ++j) {
    SubtractColumns(l, j, n, l[j]);
    const double d = std::real(l[j][j]);
    const double root = d > 0 ? std::sqrt(d) : d;
    l[j][j] = root;
    if (!(d > 0)) failed = j + 1;
    for (int64_t i = j + 1; i < n; ++i) l[j][i] /= root;
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) a(i, j) = l[j][i];
  }
  return failed;
}

// Computes c -= a a^H in the lower triangle.
template <class T>
void SubtractSquare(const Matrix<T>& a, const Matrix<T>& c) {
  constexpr int64_t kWhole = 4 * kBlock;  // Half of the products are wasted.
  if (c.rows <= kWhole) return SubtractProduct(Plain(a), Adjoint(a), c, Part::kLower);
  const int64_t h = LeadingRows(c.rows), rest = c.rows - h;
  const Matrix<T> above = a.Block(0, 0, h, a.columns), below = a.Block(h, 0, rest, a.columns);
  SubtractSquare(above, c.Block(0, 0, h, h));
  SubtractProduct(Plain(below), Adjoint(above), c.Block(h, 0, rest, h));
  SubtractSquare(below, c.Block(h, h, rest, rest));
}

// --- Triangular systems

// A diagonal block of a triangle, as a lower triangle; upper ones are reversed in both dimensions.
template <class T>
class Triangle {
 public:
  Triangle(const Source<T>& a, bool lower) {
    const int64_t n = a.rows;
    T(*rows)[kBlock] = rows_.data();
    if (lower) {
      cpu::WidenBlockOf<T>(a.type)(a.data, a.row_stride, a.column_stride, n, n, rows[0], kBlock);
    } else {
      const Source<T> last = a.Block(n - 1, n - 1, 1, 1);
      cpu::WidenBlockOf<T>(a.type)(last.data, -a.row_stride, -a.column_stride, n, n, rows[0], kBlock);
    }
    if (!a.conjugate) return;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) rows[i][j] = Conj(rows[i][j]);
    }
  }
  const T* operator[](int64_t row) const { return rows_.data()[row]; }

 private:
  RawArray<T[kBlock], kBlock> rows_;
};

// Solves for kWidth columns at once, which are contiguous in each row of `x`.
template <class T, int kWidth>
void SubstituteLanes(const Triangle<T>& a, int64_t n, bool unit_diagonal, T (*x)[kWidth]) {
  for (int64_t i = 0; i < n; ++i) {
    T sums[kWidth];
    for (int c = 0; c < kWidth; ++c) sums[c] = x[i][c];
    for (int64_t k = 0; k < i; ++k) {
      const T factor = a[i][k];
      for (int c = 0; c < kWidth; ++c) sums[c] -= factor * x[k][c];
    }
    for (int c = 0; c < kWidth; ++c) x[i][c] = unit_diagonal ? sums[c] : sums[c] / a[i][i];
  }
}

// Does the same with real and imaginary parts in separate vectors.
template <class T, int kWidth>
requires std::is_same_v<T, Complex>
void SubstituteLanes(const Triangle<T>& a, int64_t n, bool unit_diagonal, T (*x)[kWidth]) {
  constexpr int kLanes = cpu::kLanes<double>, kVectors = kWidth / kLanes;
  Lanes re[kBlock][kVectors], im[kBlock][kVectors];
  for (int64_t i = 0; i < n; ++i) {
    for (int c = 0; c < kWidth; ++c) {
      re[i][c / kLanes][c % kLanes] = x[i][c].real();
      im[i][c / kLanes][c % kLanes] = x[i][c].imag();
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    Lanes re_sums[kVectors], im_sums[kVectors];
    std::copy_n(re[i], kVectors, re_sums);
    std::copy_n(im[i], kVectors, im_sums);
    for (int64_t k = 0; k < i; ++k) {
      const double re_factor = a[i][k].real(), im_factor = a[i][k].imag();
      for (int v = 0; v < kVectors; ++v) {
        re_sums[v] -= re_factor * re[k][v] - im_factor * im[k][v];
        im_sums[v] -= re_factor * im[k][v] + im_factor * re[k][v];
      }
    }
    const Divisor<T> diagonal(a[i][i]);
    for (int v = 0; v < kVectors; ++v) {
      re[i][v] = unit_diagonal ? re_sums[v] : diagonal.Real(re_sums[v], im_sums[v]);
      im[i][v] = unit_diagonal ? im_sums[v] : diagonal.Imag(re_sums[v], im_sums[v]);
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int c = 0; c < kWidth; ++c) x[i][c] = {re[i][c / kLanes][c % kLanes], im[i][c / kLanes][c % kLanes]};
  }
}

template <class T, int kWidth>
void SubstituteColumns(const Triangle<T>& a, bool lower, bool unit_diagonal, const Matrix<T>& x) {
  RawArray<T[kWidth], kBlock> rows;
  T(*lanes)[kWidth] = rows.data();
  const int64_t n = x.rows, columns = x.columns;
  // Returns the row of x for row i of the lower triangular system.
  const auto row = [&](int64_t i) { return lower ? i : n - 1 - i; };
  const auto each = [&](auto&& visit) {
    if (x.column_stride == 1) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t c = 0; c < columns; ++c) visit(lanes[i][c], x(row(i), c));
      }
    } else {
      for (int64_t c = 0; c < columns; ++c) {
        for (int64_t i = 0; i < n; ++i) visit(lanes[i][c], x(row(i), c));
      }
    }
  };
  if (columns < kWidth) {
    for (int64_t i = 0; i < n; ++i) std::fill_n(lanes[i], kWidth, T(0));
  }
  each([](T& lane, const T& element) { lane = element; });
  SubstituteLanes<T, kWidth>(a, n, unit_diagonal, lanes);
  each([](const T& lane, T& element) { element = lane; });
}

template <class T>
void SubstituteBlock(const Source<T>& a, bool lower, bool unit_diagonal, const Matrix<T>& x) {
  constexpr int kWide = 256 / sizeof(T), kNarrow = 8;
  const Triangle<T> triangle(a, lower);
  const int64_t n = x.rows, groups = CeilDiv(x.columns, kWide);
  const double each = 100 + static_cast<double>(n * n * kWide) * 0.05 * sizeof(T) / sizeof(double);
  ParallelFor(groups, each * static_cast<double>(groups), [&](int64_t group) {
    const int64_t begin = group * kWide, columns = std::min<int64_t>(kWide, x.columns - begin);
    if (columns > kWide / 2)
      return SubstituteColumns<T, kWide>(triangle, lower, unit_diagonal, x.Block(0, begin, n, columns));
    for (int64_t c = 0; c < columns; c += kNarrow) {
      SubstituteColumns<T, kNarrow>(triangle, lower, unit_diagonal,
                                    x.Block(0, begin + c, n, std::min<int64_t>(kNarrow, columns - c)));
    }
  });
}

// Solves a x = b, where x holds b initially.
template <class T>
void Substitute(const Source<T>& a, bool lower, bool unit_diagonal, const Matrix<T>& x) {
  const int64_t n = x.rows, columns = x.columns;
  if (n <= kBlock) return SubstituteBlock(a, lower, unit_diagonal, x);
  const int64_t h = LeadingRows(n), rest = n - h;
  const Matrix<T> above = x.Block(0, 0, h, columns), below = x.Block(h, 0, rest, columns);
  const Source<T> first = a.Block(0, 0, h, h), last = a.Block(h, h, rest, rest);
  if (lower) {
    Substitute(first, lower, unit_diagonal, above);
    SubtractProduct(a.Block(h, 0, rest, h), Plain(above), below);
    Substitute(last, lower, unit_diagonal, below);
  } else {
    Substitute(last, lower, unit_diagonal, below);
    SubtractProduct(a.Block(0, h, h, rest), Plain(below), above);
    Substitute(first, lower, unit_diagonal, above);
  }
}

}  // namespace

template <class T>
void SolveTriangular(const Source<T>& a, const Matrix<T>& b, const TriangleOptions& options) {
  if (b.rows == 0 || b.columns == 0) return;
  // x op(a) = b is equivalent to op(a)^T x^T = b^T.
  const bool transposed = (options.op != MatrixOp::kNone) == options.left;
  Source<T> triangle = transposed ? a.Transposed() : a;
  if (options.op == MatrixOp::kAdjoint) triangle = triangle.Conjugate();
  Substitute(triangle, options.lower != transposed, options.unit_diagonal, options.left ? b : b.Transposed());
}

template <class T>
int64_t Cholesky(const Matrix<T>& a) {
  const int64_t n = a.rows;
  if (n <= kBlock) return FactorBlock(a);
  const int64_t h = LeadingRows(n), rest = n - h;
  const Matrix<T> first = a.Block(0, 0, h, h), last = a.Block(h, h, rest, rest),
                  below = a.Block(h, 0, rest, h);
  if (const int64_t order = Cholesky(first); order != 0) return order;
  SolveTriangular(Plain(first), below, {.left = false, .lower = true, .op = MatrixOp::kAdjoint});
  SubtractSquare(below, last);
  const int64_t order = Cholesky(last);
  return order == 0 ? 0 : h + order;
}

#define HLO_INSTANTIATE(T)                     \
  template int64_t Cholesky(const Matrix<T>&); \
  template void SolveTriangular(const Source<T>&, const Matrix<T>&, const TriangleOptions&);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::lapack
