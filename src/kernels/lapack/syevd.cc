#include <algorithm>
#include <functional>
#include <numeric>

#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/lapack/dense_copy.h"
#include "kernels/lapack/reflector_blocks.h"
#include "kernels/lapack/scratch.h"
#include "kernels/lapack/small_spectra.h"
#include "kernels/lapack/spectra.h"
#include "kernels/lapack/tridiagonal.h"
#include "kernels/lapack/tridiagonal_dc.h"

namespace hlo::lapack {
namespace {

template <class T>
int64_t NoEigenvalues(const Matrix<T>& a, absl::Span<double> w, bool vectors) {
  std::fill(w.begin(), w.end(), kNan);
  if (vectors) Fill(a, T(kNan));
  return 1;
}

// Copies the lower triangle in column-major order and scales it. Returns the scale, or NaN.
template <class T>
double CopyTriangle(const Matrix<T>& a, bool lower, T* to, int64_t stride) {
  const int64_t n = a.rows;
  ForEachElementInTiles(n, n, [&](int64_t i, int64_t j) {
    if (i < j) return;
    to[j * stride + i] = lower ? a(i, j) : Conj(a(j, i));
  });
  LargestComponent largest;
  for (int64_t j = 0; j < n; ++j) largest.Add(to + j * stride, j, n);
  if (std::isnan(largest.value())) return kNan;
  const double scale = ScaleFor(largest.value());
  if (scale != 1) {
    for (int64_t j = 0; j < n; ++j) Scale(T(scale), to + j * stride, j, n);
  }
  return scale;
}

// Fills a with the eigenvectors of the tridiagonal matrix in sorted order, and applies the reflectors to it.
template <class T>
void Eigenvectors(const Matrix<const double>& rows, const int64_t* order, const Reflectors<T>& reflectors,
                  const Matrix<T>& a) {
  InUnitStride(a, [&](const Matrix<T>& x) {
    ForEachElementInTiles(x.rows, x.rows, [&](int64_t i, int64_t j) { x(i, j) = T(rows(order[j], i)); });
    ApplyReflectors(reflectors, x);
  });
}

// Returns LAPACK's eigenvectors of the tridiagonal matrix if it is small.
VectorList SignedVectors(const cpu::CachedVector<double>& diagonal,
                         const cpu::CachedVector<double>& off_diagonal, double scale,
                         RealPrecision precision) {
  const auto n = static_cast<int64_t>(diagonal.size());
  if (n > kMaxSignedRows) return {};
  cpu::CachedVector<double> d(n), e(n);
  for (int64_t i = 0; i < n; ++i) d[i] = diagonal[i] / scale;
  for (int64_t i = 0; i + 1 < n; ++i) e[i] = off_diagonal[i] / scale;
  return SteqrVectors(n, d.data(), e.data(), precision);
}

void SetSigns(const Matrix<double>& rows, const int64_t* order, const VectorList& wanted) {
  for (int64_t k = 0; !wanted.empty() && k < rows.rows; ++k) {
    double* row = &rows(order[k], 0);
    if (std::inner_product(row, row + rows.columns, wanted.at(k), 0.0) < 0)
      std::transform(row, row + rows.columns, row, std::negate<>());
  }
}

}  // namespace

template <class T>
int64_t Syevd(Matrix<T> a, bool lower, absl::Span<double> w, bool vectors, RealPrecision precision) {
  const int64_t n = a.rows, stride = PaddedLength<T>(n);
  if (n == 0) return 0;
  const Scratch<T> matrix(n * stride), taus(n);
  const double scale = CopyTriangle(a, lower, matrix.data(), stride);
  if (std::isnan(scale)) return NoEigenvalues(a, w, vectors);
  cpu::CachedVector<double> diagonal(n), off_diagonal(n);
  Tridiagonalise(matrix.data(), stride, n, diagonal.data(), off_diagonal.data(), taus.data());
  if (!vectors) {
    if (TridiagonalQr(n, diagonal.data(), off_diagonal.data(), {}) != 0) return NoEigenvalues(a, w, vectors);
    std::sort(diagonal.begin(), diagonal.end());
    for (int64_t i = 0; i < n; ++i) w[i] = diagonal[i] / scale;
    return 0;
  }
  const VectorList wanted = SignedVectors(diagonal, off_diagonal, scale, precision);
  const int64_t row_stride = PaddedLength<double>(n);
  const Scratch<double> rows(n * row_stride);
  cpu::CachedVector<int64_t> order(n);
  const Matrix<double> eigenvectors{rows.data(), n, n, row_stride, 1};
  if (TridiagonalEigen(n, diagonal.data(), off_diagonal.data(), eigenvectors, order.data()) != 0)
    return NoEigenvalues(a, w, vectors);
  SetSigns(eigenvectors, order.data(), wanted);
  for (int64_t i = 0; i < n; ++i) w[i] = diagonal[order[i]] / scale;
  Eigenvectors<T>(eigenvectors.AsConst(), order.data(), {matrix.data(), stride, n - 1, n, 1, taus.data()}, a);
  return 0;
}

int64_t SyevdScratchBytes(int64_t n, int64_t element_bytes, bool vectors) {
  constexpr int64_t kDouble = sizeof(double);
  const int64_t stride = PaddedLength(n, element_bytes), matrix = n * stride * element_bytes;
  const int64_t reduction = TridiagonaliseScratchBytes(n, element_bytes), lines = 32 * stride * element_bytes;
  if (!vectors) return matrix + reduction + lines;
  const int64_t back = ApplyReflectorsScratchBytes(n, n, n, element_bytes);
  return matrix + n * stride * kDouble + std::max({reduction, TridiagonalEigenScratchBytes(n), back}) + lines;
}

#define HLO_INSTANTIATE(T) template int64_t Syevd(Matrix<T>, bool, absl::Span<double>, bool, RealPrecision);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::lapack
