#include "kernels/factor/householder_blocks.h"

#include <cmath>

#include "kernels/cpu/kept_vector.h"
#include "kernels/factor/product.h"
#include "kernels/factor/scratch.h"

namespace hlo::factor {
namespace {

// Squares beneath this lose digits.
constexpr double kNothing = 1e-280;
// Reflectors that are applied at once.
constexpr int64_t kBlock = 48;
// Matrices with fewer elements are not worth the products.
constexpr int64_t kFewElements = 24 * 24;

template <class T>
T TauOf(T alpha, double beta) {
  if constexpr (kIsComplex<T>)
    return {(beta - alpha.real()) / beta, -alpha.imag() / beta};
  else
    return (beta - alpha) / beta;
}

template <class T>
T Inverse(T x) {
  return Conj(x) / SquareOf(x);
}
template <>
double Inverse(double x) {
  return 1 / x;
}

// One after the other.
template <class T>
void ApplyEach(const Reflectors<T>& h, const Matrix<T>& x, bool adjoint) {
  cpu::KeptVector<T> sums(x.columns);
  for (int64_t step = 0; step < h.count; ++step) {
    const int64_t j = adjoint ? step : h.count - 1 - step;
    if (h.taus[j] == T(0)) continue;
    const T* v = h.rows + j * h.row_stride;
    const int64_t first = h.shift + j;
    std::fill(sums.begin(), sums.end(), T(0));
    const auto each = [&](auto&& body) {
      for (int64_t i = first; i < h.length; ++i) {
        const T value = i == first ? T(1) : v[i];
        for (int64_t c = 0; c < x.columns; ++c) body(value, x(i, c), sums[c]);
      }
    };
    each([](T value, T& element, T& sum) { sum += Times(Conj(value), element); });
    for (T& sum : sums) sum = Times(adjoint ? Conj(h.taus[j]) : h.taus[j], sum);
    each([](T value, T& element, T& sum) { element -= Times(value, sum); });
  }
}

// The factor of reflectors `from` on in the form 1 - v t v^H: v as rows, without undefined elements, and t
// upper triangular.
template <class T>
struct BlockReflector {
  BlockReflector(const Reflectors<T>& h, int64_t from, int64_t n, T* memory)
      : first(h.shift + from),
        count(n),
        length(h.length - first),
        stride(PaddedLength<T>(length)),
        v(memory) {
    for (int64_t j = 0; j < n; ++j) {
      T* row = v + j * stride;
      const T* source = h.rows + (from + j) * h.row_stride + first;
      std::fill(row, row + j, T(0));
      row[j] = T(1);
      std::copy(source + j + 1, source + length, row + j + 1);
    }
    t = v + n * stride;
    const Matrix<T> rows{v, n, length, stride, 1}, products = Matrix<T>::Dense(t + n * n, n, n);
    Product<T>(Plain(rows).Conjugate(), Plain(rows.Transposed()), products);
    for (int64_t j = 0; j < n; ++j) Extend(j, h.taus[from + j], products);
  }

  // Column j: t(0:j, j) = -tau t(0:j, 0:j) (v(0:j)^H v(j)).
  void Extend(int64_t j, T tau, const Matrix<T>& products) {
    for (int64_t i = 0; i < j; ++i) {
      T sum = T(0);
      for (int64_t l = i; l < j; ++l) sum += Times(t[i * count + l], products(l, j));
      t[i * count + j] = -Times(tau, sum);
    }
    for (int64_t i = j + 1; i < count; ++i) t[i * count + j] = T(0);
    t[j * count + j] = tau;
  }

  // `memory` holds 2 count elements for each of x's columns.
  void Apply(const Matrix<T>& x, bool adjoint, T* memory) const {
    const Matrix<T> rows{v, count, length, stride, 1}, square = Matrix<T>::Dense(t, count, count);
    // In the order of x, for products whose results are written in rows.
    const auto between = [&](T* data) {
      return x.column_stride == 1 ? Matrix<T>::Dense(data, count, x.columns)
                                  : Matrix<T>::Dense(data, x.columns, count).Transposed();
    };
    const Matrix<T> dots = between(memory), factors = between(memory + count * x.columns);
    const Matrix<T> target = x.Block(first, 0, length, x.columns);
    Product<T>(Plain(rows).Conjugate(), Plain(target), dots);
    Product<T>(adjoint ? Adjoint(square) : Plain(square), Plain(dots), factors);
    SubtractProduct<T>(Plain(rows.Transposed()), Plain(factors), target);
  }

  int64_t first, count, length, stride;
  T *v, *t;
};

}  // namespace

template <class T>
Reflection<T> MakeReflector(T* x, int64_t begin, int64_t end) {
  const double tail = SumOfSquares(x, begin + 1, end);
  const T alpha = x[begin];
  x[begin] = T(1);
  if (!(tail > kNothing) && !(SquareOf(ImagOf(alpha)) > kNothing)) {
    std::fill(x + begin + 1, x + end, T(0));
    return {RealOf(alpha), T(0)};
  }
  const double norm = std::sqrt(SquareOf(alpha) + tail);
  const double beta = std::signbit(RealOf(alpha)) ? norm : -norm;
  Scale(Inverse(alpha - beta), x, begin + 1, end);
  return {beta, TauOf(alpha, beta)};
}

template <class T>
void ApplyReflectors(const Reflectors<T>& h, const Matrix<T>& x, bool adjoint) {
  if (h.count == 0 || x.columns == 0) return;
  if (x.rows * x.columns <= kFewElements) return ApplyEach(h, x, adjoint);
  const int64_t block = std::min(kBlock, h.count), blocks = (h.count + block - 1) / block;
  const Scratch<T> memory(block * (PaddedLength<T>(h.length) + 2 * block));
  const Scratch<T> products(2 * block * x.columns);
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t from = (adjoint ? i : blocks - 1 - i) * block;
    BlockReflector<T>(h, from, std::min(block, h.count - from), memory.data())
        .Apply(x, adjoint, products.data());
  }
}

template <class T>
void FactorLines(const LineFactors<T>& f, int64_t begin, int64_t end) {
  constexpr int64_t kFewLines = 8;
  if (end - begin > kFewLines) {
    const int64_t middle = begin + (end - begin) / 2;
    FactorLines(f, begin, middle);
    const Reflectors<T> panel{
        f.lines + begin * f.stride, f.stride, middle - begin, f.length, begin, f.taus + begin};
    ApplyReflectors(panel, Matrix<T>{f.lines + middle * f.stride, f.length, end - middle, 1, f.stride}, true);
    return FactorLines(f, middle, end);
  }
  for (int64_t j = begin; j < end; ++j) {
    T* line = f.lines + j * f.stride;
    for (int64_t k = begin; k < j; ++k) {
      const T* v = f.lines + k * f.stride;
      AddMultiple(-Times(Conj(f.taus[k]), Dot(v, line, k, f.length)), v, line, k, f.length);
    }
    const auto [beta, tau] = MakeReflector(line, j, f.length);
    f.diagonal[j] = beta;
    f.taus[j] = tau;
  }
}

int64_t ApplyReflectorsScratchBytes(int64_t count, int64_t length, int64_t columns, int64_t element_bytes) {
  const int64_t block = std::min(kBlock, count);
  return block * (PaddedLength(length, element_bytes) + 2 * block + 2 * columns) * element_bytes;
}

#define HLO_INSTANTIATE(T)                                                     \
  template Reflection<T> MakeReflector(T*, int64_t, int64_t);                  \
  template void ApplyReflectors(const Reflectors<T>&, const Matrix<T>&, bool); \
  template void FactorLines(const LineFactors<T>&, int64_t, int64_t);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::factor
