#include "kernels/lapack/reflectors.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/elementwise/copy_array.h"
#include "kernels/lapack/dense_copy.h"

namespace hlo::lapack {
namespace {

// Applies a reflector to kCount lines at once.
template <class T, int kCount>
void ApplyToLines(const T* v, T factor, T* line, int64_t stride, int64_t first, int64_t end) {
  const Rest<T> head(first % kElements<T>);
  const auto each = [&](auto&& body) __attribute__((always_inline)) {
    int64_t i = first / kElements<T> * kElements<T>;
    body(i, head);
    for (i += kElements<T>; i < end; i += kElements<T>) body(i, Whole<T>{});
  };
  DotSum<T> dots[kCount];
  each([&](int64_t i, auto part) __attribute__((always_inline)) {
    const Lanes x = part.Load(v + i), swapped = Swapped<T>(x);
#pragma GCC unroll 8
    for (int k = 0; k < kCount; ++k) dots[k].Add(x, swapped, part.Load(line + k * stride + i));
  });
  Scalar<T> scalars[kCount];
#pragma GCC unroll 8
  for (int k = 0; k < kCount; ++k) scalars[k] = Scalar<T>(Times(factor, dots[k].Total()));
  each([&](int64_t i, auto part) __attribute__((always_inline)) {
    const Lanes x = part.Load(v + i), swapped = Swapped<T>(x);
#pragma GCC unroll 8
    for (int k = 0; k < kCount; ++k) {
      T* to = line + k * stride + i;
      part.Store(to, part.Load(to) - scalars[k].Times(x, swapped));
    }
  });
}

// Returns true if squares of this size neither overflow nor lose precision, even in sums of a few terms.
bool IsSafeSquare(double x) { return x > 0x1p-960 && x < 0x1p960; }

// Returns the norm of elements of any size, without overflow or underflow.
template <class T>
double SafeNorm(const T* elements, int64_t begin, int64_t end) {
  const double* x = PartsOf(elements);
  double largest = 0, sum = 0;
  begin *= kWords<T>;
  end *= kWords<T>;
  for (int64_t i = begin; i < end; ++i) {
    if (std::isnan(x[i])) return x[i];
    largest = std::max(largest, std::abs(x[i]));
  }
  if (largest == 0 || std::isinf(largest)) return largest;
  for (int64_t i = begin; i < end; ++i) sum += SquareOf(x[i] / largest);
  return largest * std::sqrt(sum);
}

double Tau(double alpha, double beta) { return (beta - alpha) / beta; }
Complex Tau(Complex alpha, double beta) { return {(beta - alpha.real()) / beta, -alpha.imag() / beta}; }
double Inverse(double x) { return 1 / x; }
Complex Inverse(Complex x) { return Conj(x) / SquareOf(x); }

// Computes the reflector of x, given the sum of squares of the elements after the first.
template <class T>
Reflector<T> ReflectTail(double tail, T* x, int64_t begin, int64_t end) {
  const T alpha = x[begin];
  const double norm = std::sqrt(SquareOf(alpha) + tail), beta = std::signbit(RealOf(alpha)) ? norm : -norm;
  Scale(Inverse(alpha - beta), x, begin + 1, end);
  x[begin] = T(1);
  return {beta, Tau(alpha, beta)};
}

// Computes the reflector of elements whose squares overflow or underflow.
template <class T>
Reflector<T> SafeReflect(T* x, int64_t begin, int64_t end) {
  const bool is_zero = std::all_of(x + begin + 1, x + end, [](T element) { return element == T(0); });
  if (is_zero && ImagOf(x[begin]) == 0) return {RealOf(std::exchange(x[begin], T(1))), T(0)};
  LargestComponent largest;
  largest.Add(x, begin, end);
  const double scale = std::isnan(largest.value()) ? 1 : ScaleFor(largest.value());
  if (scale != 1) Scale(T(scale), x, begin, end);
  const auto [beta, tau] = ReflectTail(SumOfSquares(x, begin + 1, end), x, begin, end);
  return {beta / scale, tau};
}

}  // namespace

template <class T>
Reflector<T> Reflect(T* x, int64_t begin, int64_t end) {
  const double tail = SumOfSquares(x, begin + 1, end);
  if (IsSafeSquare(tail) && IsSafeSquare(tail + SquareOf(x[begin]))) return ReflectTail(tail, x, begin, end);
  return SafeReflect(x, begin, end);
}

template <class T>
Reflector<T> ReflectScaled(T* x, int64_t begin, int64_t end) {
  const double tail = SumOfSquares(x, begin + 1, end);
  if (tail > kMinSquare || SquareOf(ImagOf(x[begin])) > kMinSquare) return ReflectTail(tail, x, begin, end);
  const double alpha = RealOf(x[begin]);
  x[begin] = T(1);
  std::fill(x + begin + 1, x + end, T(0));
  return {alpha, T(0)};
}

template <class T>
double LineNorm(const Matrix<T>& lines, int64_t number, int64_t first) {
  const T* line = &lines(number, 0);
  const double sum = SumOfSquares(line, first, lines.columns);
  return IsSafeSquare(sum) ? std::sqrt(sum) : SafeNorm(line, first, lines.columns);
}

template <class T>
void ApplyReflector(const T* v, int64_t first, T factor, const Matrix<T>& lines) {
  if (factor == T(0)) return;
  constexpr int64_t kMax = kIsComplex<T> ? 4 : 8;
  const int64_t stride = lines.row_stride;
  const auto apply = [&](int64_t group) {
    T* line = lines.data + group * kMax * stride;
    const int64_t count = std::min(kMax, lines.rows - group * kMax);
    const auto some = [&]<int kCount>() {
      ApplyToLines<T, kCount>(v, factor, line, stride, first, lines.columns);
      line += kCount * stride;
    };
    if (count == kMax) return some.template operator()<kMax>();
    if ((count & 4) != 0) some.template operator()<4>();
    if ((count & 2) != 0) some.template operator()<2>();
    if ((count & 1) != 0) some.template operator()<1>();
  };
  const int64_t groups = CeilDiv(lines.rows, kMax);
  const double nanoseconds = 0.1 * static_cast<double>(lines.rows * (lines.columns - first) * kWords<T>);
  constexpr double kShort = 5'000;
  if (nanoseconds >= kShort) return ParallelFor(groups, nanoseconds, apply);
  for (int64_t group = 0; group < groups; ++group) apply(group);
}

template <class T>
void CombineLines(const Matrix<T>& lines, const T* factors, T* to) {
  constexpr int kVectors = 4;
  constexpr Whole<T> kWhole;
  for (int64_t i = 0; i < lines.columns; i += kVectors * kElements<T>) {
    const int64_t vectors = (lines.columns - i + kElements<T> - 1) / kElements<T>;
    const auto count = static_cast<int>(std::min<int64_t>(kVectors, vectors));
    Lanes sums[kVectors] = {};
    for (int64_t k = i; k < lines.rows; ++k) {
      const T* line = &lines(k, i);
      const Scalar<T> scalar(factors[k]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        if (v == count) break;
        sums[v] += scalar * kWhole.Load(line + v * kElements<T>);
      }
    }
    for (int v = 0; v < count; ++v) kWhole.Store(to + i + v * kElements<T>, sums[v]);
  }
}

template <class T>
void ReadLines(const Matrix<const T>& columns, const Matrix<T>& lines) {
  cpu::CopyArray(
      {{columns.rows, columns.row_stride, 1}, {columns.columns, columns.column_stride, lines.row_stride}},
      sizeof(T), columns.data, lines.data);
  for (int64_t c = 0; c < lines.rows; ++c)
    std::fill(&lines(c, 0) + lines.columns, &lines(c, 0) + lines.row_stride, T(0));
}

template <class T>
void WriteLines(const Matrix<T>& lines, int64_t begin, const Matrix<T>& columns) {
  if (begin >= lines.columns) return;
  cpu::CopyArray(
      {{lines.columns - begin, 1, columns.row_stride}, {lines.rows, lines.row_stride, columns.column_stride}},
      sizeof(T), lines.data + begin, &columns(begin, 0));
}

template <class T>
void CompleteReflectors(const Matrix<T>& lines) {
  for (int64_t c = 0; c < lines.rows; ++c) {
    std::fill_n(&lines(c, 0), c, T(0));
    lines(c, c) = T(1);
  }
}

#define HLO_INSTANTIATE(T)                                               \
  template void ReadLines(const Matrix<const T>&, const Matrix<T>&);     \
  template void WriteLines(const Matrix<T>&, int64_t, const Matrix<T>&); \
  template void CompleteReflectors(const Matrix<T>&);                    \
  template void CombineLines(const Matrix<T>&, const T*, T*);            \
  template double LineNorm(const Matrix<T>&, int64_t, int64_t);          \
  template Reflector<T> Reflect(T*, int64_t, int64_t);                   \
  template Reflector<T> ReflectScaled(T*, int64_t, int64_t);             \
  template void ApplyReflector(const T*, int64_t, T, const Matrix<T>&);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::lapack
