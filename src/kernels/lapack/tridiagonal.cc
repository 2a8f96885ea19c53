#include "kernels/lapack/tridiagonal.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/lapack/reflectors.h"

namespace hlo::lapack {
namespace {

// Returns the number of parallel work items for a remaining triangle with this number of rows.
int64_t TrianglePieces(int64_t rows) { return PieceCount(rows * rows / 2); }

// One pass over the columns of the remaining matrix from `first` on. It applies the previous reflector's
// rank-2 update a -= v w^H + w v^H, and computes the product of the updated a with x.
template <class T>
struct Pass {
  T* a;
  int64_t stride, n, first;
  const T *v, *w, *x;

  // Updates the rows below columns c, ..., c + kColumns - 1, and adds their contribution to y.
  template <int kColumns>
  void Below(int64_t c, T* y) const {
    DotSum<T> sums[kColumns];
    const auto each = [&]<size_t... k>(std::index_sequence<k...>) {
      const Scalar<T> by_v[] = {Scalar<T>(Conj(w[c + k]))...}, by_w[] = {Scalar<T>(Conj(v[c + k]))...};
      const Scalar<T> by_a[] = {Scalar<T>(x[c + k])...};
      EachVector<T>(c + kColumns, n, [&](int64_t i, auto part) {
        const Lanes left = part.Load(v + i), right = part.Load(w + i), factor = part.Load(x + i);
        Lanes product = part.Load(y + i);
        const auto column = [&](T * element, size_t j) __attribute__((always_inline)) {
          const Lanes value = part.Load(element) - by_v[j] * left - by_w[j] * right;
          part.Store(element, value);
          product += by_a[j] * value;
          sums[j].Add(value, factor);
        };
        (column(a + (c + k) * stride + i, k), ...);
        part.Store(y + i, product);
      });
    };
    each(std::make_index_sequence<kColumns>());
    for (int k = 0; k < kColumns; ++k) y[c + k] += sums[k].Total();
  }

  // Updates the diagonal triangle of these columns, and adds its contribution to y.
  void Triangle(int64_t c, int64_t end, T* y) const {
    for (int64_t j = c; j < end; ++j) {
      T* column = a + j * stride;
      for (int64_t i = j; i < end; ++i) {
        const T value = column[i] - Times(v[i], Conj(w[j])) - Times(w[i], Conj(v[j]));
        column[i] = value;
        if (i == j) {
          y[i] += RealOf(value) * x[i];
        } else {
          y[i] += Times(value, x[j]);
          y[j] += Times(Conj(value), x[i]);
        }
      }
    }
  }

  // Processes columns [begin, end); adds to y from `begin` on.
  void Columns(int64_t begin, int64_t end, T* y) const {
    constexpr int kColumns = kIsComplex<T> ? 2 : 4;
    int64_t c = begin;
    for (; c + kColumns <= end; c += kColumns) {
      Triangle(c, c + kColumns, y);
      Below<kColumns>(c, y);
    }
    for (; c < end; ++c) {
      Triangle(c, c + 1, y);
      Below<1>(c, y);
    }
  }

  // Returns the first column of work item i; all items have about the same number of elements.
  int64_t PieceBegin(int64_t i, int64_t pieces) const {
    const auto columns = static_cast<double>(n - first);
    if (i == pieces) return n;
    return first + static_cast<int64_t>(
                       columns * (1 - std::sqrt(1 - static_cast<double>(i) / static_cast<double>(pieces))));
  }

  // Computes y = a x. `parts` holds a line of `stride` elements for each work item but the first.
  void Run(T* y, T* parts) const {
    const int64_t pieces = TrianglePieces(n - first);
    const double elements = 0.5 * static_cast<double>((n - first) * (n - first));
    ParallelFor(pieces, elements * (kIsComplex<T> ? 0.5 : 0.18), [&](int64_t i) {
      const int64_t begin = PieceBegin(i, pieces);
      T* to = i == 0 ? y : parts + (i - 1) * stride;
      std::fill(to + begin, to + n, T(0));
      Columns(begin, PieceBegin(i + 1, pieces), to);
    });
    for (int64_t i = 1; i < pieces; ++i)
      AddMultiple<T>(T(1), parts + (i - 1) * stride, y, PieceBegin(i, pieces), n);
  }
};

}  // namespace

template <class T>
void Tridiagonalise(T* a, int64_t stride, int64_t n, double* diagonal, double* off_diagonal, T* taus) {
  const int64_t line = PaddedLength<T>(n);
  cpu::CachedVector<T> lines(line * 4), parts((TrianglePieces(n) - 1) * stride);
  std::fill(lines.begin(), lines.end(), T(0));
  T *v = lines.data(), *w = v + line, *x = w + line, *y = x + line;
  for (int64_t j = 0; j < n; ++j) {
    T* column = a + j * stride;
    AddMultiple<T>(-Conj(w[j]), v, column, j, n);
    AddMultiple<T>(-Conj(v[j]), w, column, j, n);
    diagonal[j] = RealOf(column[j]);
    if (j + 1 == n) break;
    const auto [beta, tau] = ReflectScaled(column, j + 1, n);
    off_diagonal[j] = beta;
    taus[j] = tau;
    std::copy(column + j + 1, column + n, x + j + 1);
    Pass<T>{a, stride, n, j + 1, v, w, x}.Run(y, parts.data());
    Scale(tau, y, j + 1, n);
    const T product = Dot(y, x, j + 1, n);
    AddMultiple<T>(Times(T(-0.5) * tau, product), x, y, j + 1, n);
    std::swap(v, x);
    std::swap(w, y);
  }
}

int64_t TridiagonaliseScratchBytes(int64_t n, int64_t element_bytes) {
  return PaddedLength(n, element_bytes) * (3 + TrianglePieces(n)) * element_bytes;
}

#define HLO_INSTANTIATE(T) template void Tridiagonalise(T*, int64_t, int64_t, double*, double*, T*);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::lapack
