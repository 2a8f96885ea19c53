#include "kernels/factor/reflectors.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/parallel.h"
#include "kernels/cpu/copy_array.h"
#include "kernels/cpu/simd.h"

namespace hlo::factor {
namespace {

using cpu::LoadVector;
using cpu::StoreVector;
using V = cpu::Vector<double>;
constexpr int kLane = cpu::kLanes<double>;

template <class T>
constexpr bool kComplex = std::is_same_v<T, Complex>;
template <class T>
constexpr int64_t kParts = kComplex<T> ? 2 : 1;  // Doubles of a number.

template <class T>
double* PartsOf(T* x) {
  return reinterpret_cast<double*>(x);
}
template <class T>
const double* PartsOf(const T* x) {
  return reinterpret_cast<const double*>(x);
}

template <size_t... kLanes>
V SwappedPairs(V v, std::index_sequence<kLanes...>) {
  return __builtin_shufflevector(v, v, static_cast<int>(kLanes ^ 1)...);
}
// Real and imaginary parts change places.
V Swapped(V v) { return SwappedPairs(v, std::make_index_sequence<kLane>()); }
// x in the lanes of imaginary parts, -x in those of real parts.
V Alternating(double x) {
  V v;
  for (int i = 0; i < kLane; ++i) v[i] = i % 2 == 0 ? -x : x;
  return v;
}

// What vectors of numbers are multiplied by.
template <class T>
class Scale {
 public:
  Scale() = default;
  explicit Scale(T s) : same_(cpu::Broadcast(std::real(s))) {
    if constexpr (kComplex<T>) crossed_ = Alternating(s.imag());
  }
  V Of(V v, V swapped) const {
    if constexpr (kComplex<T>)
      return same_ * v + crossed_ * swapped;
    else
      return same_ * v;
  }

 private:
  V same_;
  V crossed_;
};

// The sum of conj(v) c, added up vector by vector.
template <class T>
struct DotProduct {
  V same{}, crossed{};
  void Add(V v, V swapped, V c) {
    same += v * c;
    if constexpr (kComplex<T>) crossed += swapped * c;
  }
  T Sum() const {
    if constexpr (kComplex<T>)
      return {cpu::SumOfLanes<double>(same), cpu::SumOfLanes<double>(crossed * Alternating(1))};
    else
      return cpu::SumOfLanes<double>(same);
  }
};

template <class T>
V SwappedIfComplex(V v) {
  return kComplex<T> ? Swapped(v) : v;
}

// ApplyReflector for kCount lines at once; counts in doubles.
template <class T, int kCount>
void ApplyToLines(const double* v, T factor, double* line, int64_t stride, int64_t begin, int64_t end) {
  DotProduct<T> dots[kCount];
  for (int64_t i = begin; i < end; i += kLane) {
    const V x = LoadVector(v + i), swapped = SwappedIfComplex<T>(x);
#pragma GCC unroll 8
    for (int k = 0; k < kCount; ++k) dots[k].Add(x, swapped, LoadVector(line + k * stride + i));
  }
  Scale<T> scales[kCount];
#pragma GCC unroll 8
  for (int k = 0; k < kCount; ++k) scales[k] = Scale<T>(Times(factor, dots[k].Sum()));
  for (int64_t i = begin; i < end; i += kLane) {
    const V x = LoadVector(v + i), swapped = SwappedIfComplex<T>(x);
#pragma GCC unroll 8
    for (int k = 0; k < kCount; ++k) {
      double* to = line + k * stride + i;
      StoreVector(to, LoadVector(to) - scales[k].Of(x, swapped));
    }
  }
}

// --- Lengths

struct Range {
  int64_t begin, end;  // In doubles, multiples of vectors.
};
template <class T>
Range FromVectorOf(int64_t first, int64_t length) {
  const auto up = [](int64_t count) { return (count * kParts<T> + kLane - 1) / kLane * kLane; };
  return {first * kParts<T> / kLane * kLane, up(length)};
}

double SumOfSquares(const double* x, Range range) {
  V sums[4] = {};
  int64_t i = range.begin;
  for (; i + 4 * kLane <= range.end; i += 4 * kLane) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      const V v = LoadVector(x + i + k * kLane);
      sums[k] += v * v;
    }
  }
  for (; i < range.end; i += kLane) {
    const V v = LoadVector(x + i);
    sums[0] += v * v;
  }
  return cpu::SumOfLanes<double>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// Squares in here neither overflow nor lose anything that counts, also as parts of a few sums.
bool IsSafeSquare(double x) { return x > 0x1p-960 && x < 0x1p960; }

// The square root of the sum of squares of numbers of any size.
double CarefulNorm(const double* x, Range range) {
  double largest = 0, sum = 0;
  for (int64_t i = range.begin; i < range.end; ++i) {
    if (std::isnan(x[i])) return x[i];
    largest = std::max(largest, std::abs(x[i]));
  }
  if (largest == 0 || std::isinf(largest)) return largest;
  for (int64_t i = range.begin; i < range.end; ++i) sum += (x[i] / largest) * (x[i] / largest);
  return largest * std::sqrt(sum);
}

double Tau(double alpha, double beta) { return (beta - alpha) / beta; }
Complex Tau(Complex alpha, double beta) { return {(beta - alpha.real()) / beta, -alpha.imag() / beta}; }

template <class T>
Reflector<T> CarefulReflect(T alpha, T* line, Range range) {
  const double tail = CarefulNorm(PartsOf(line), range);
  if (tail == 0 && std::imag(alpha) == 0) return {T(0), alpha};
  const double norm = std::hypot(std::hypot(std::real(alpha), std::imag(alpha)), tail);
  const double beta = std::signbit(std::real(alpha)) ? norm : -norm;
  for (int64_t i = range.begin / kParts<T>; i < range.end / kParts<T>; ++i) line[i] /= alpha - beta;
  return {Tau(alpha, beta), beta};
}

}  // namespace

template <class T>
Reflector<T> Reflect(const Matrix<T>& lines, int64_t number, int64_t first) {
  T* line = &lines(number, 0);
  const T alpha = line[first];
  std::fill_n(line, first + 1, T(0));
  const Range range = FromVectorOf<T>(first, lines.columns);
  double* x = PartsOf(line);
  const double tail = SumOfSquares(x, range), whole = tail + std::norm(alpha);
  Reflector<T> reflector;
  if (IsSafeSquare(tail) && IsSafeSquare(whole)) {
    const double norm = std::sqrt(whole), beta = std::signbit(std::real(alpha)) ? norm : -norm;
    const T pivot = alpha - beta;
    const Scale<T> scale(linalg::Conj(pivot) / std::norm(pivot));
    for (int64_t i = range.begin; i < range.end; i += kLane) {
      const V v = LoadVector(x + i);
      StoreVector(x + i, scale.Of(v, SwappedIfComplex<T>(v)));
    }
    reflector = {Tau(alpha, beta), beta};
  } else {
    reflector = CarefulReflect(alpha, line, range);
  }
  line[first] = T(1);
  return reflector;
}

template <class T>
double LineNorm(const Matrix<T>& lines, int64_t number, int64_t first) {
  const double* x = PartsOf(&lines(number, 0));
  const Range all{first * kParts<T>, lines.columns * kParts<T>};
  // What lies before `first` in its vector does not count.
  const Range vectors{std::min((all.begin + kLane - 1) / kLane * kLane, all.end), all.end / kLane * kLane};
  double sum = SumOfSquares(x, vectors);
  for (int64_t i = all.begin; i < vectors.begin; ++i) sum += x[i] * x[i];
  for (int64_t i = std::max(vectors.begin, vectors.end); i < all.end; ++i) sum += x[i] * x[i];
  return IsSafeSquare(sum) ? std::sqrt(sum) : CarefulNorm(x, all);
}

template <class T>
void ApplyReflector(const T* v, int64_t first, T factor, const Matrix<T>& lines) {
  if (factor == T(0)) return;
  constexpr int64_t kMost = kComplex<T> ? 4 : 8;
  const Range range = FromVectorOf<T>(first, lines.columns);
  const int64_t stride = lines.row_stride * kParts<T>;
  const auto apply = [&](int64_t group) {
    double* line = PartsOf(lines.data) + group * kMost * stride;
    const int64_t count = std::min(kMost, lines.rows - group * kMost);
    const auto some = [&]<int kCount>() {
      ApplyToLines<T, kCount>(PartsOf(v), factor, line, stride, range.begin, range.end);
      line += kCount * stride;
    };
    if (count == kMost) return some.template operator()<kMost>();
    if ((count & 4) != 0) some.template operator()<4>();
    if ((count & 2) != 0) some.template operator()<2>();
    if ((count & 1) != 0) some.template operator()<1>();
  };
  const int64_t groups = (lines.rows + kMost - 1) / kMost;
  const double nanoseconds = 0.1 * static_cast<double>(lines.rows * (range.end - range.begin));
  constexpr double kShort = 5'000;
  if (nanoseconds >= kShort) return ParallelFor(groups, nanoseconds, apply);
  for (int64_t group = 0; group < groups; ++group) apply(group);
}

template <class T>
void CombineLines(const Matrix<T>& lines, const T* factors, T* to) {
  constexpr int kVectors = 4;
  const int64_t stride = lines.row_stride * kParts<T>, end = FromVectorOf<T>(0, lines.columns).end;
  for (int64_t i = 0; i < end; i += kVectors * kLane) {
    const auto count = static_cast<int>(std::min<int64_t>(kVectors, (end - i) / kLane));
    V sums[kVectors] = {};
    for (int64_t k = i / kParts<T>; k < lines.rows; ++k) {
      const double* line = PartsOf(lines.data) + k * stride + i;
      const Scale<T> scale(factors[k]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        if (v == count) break;
        const V x = LoadVector(line + v * kLane);
        sums[v] += scale.Of(x, SwappedIfComplex<T>(x));
      }
    }
    for (int v = 0; v < count; ++v) StoreVector(PartsOf(to) + i + v * kLane, sums[v]);
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
  template Reflector<T> Reflect(const Matrix<T>&, int64_t, int64_t);     \
  template void ApplyReflector(const T*, int64_t, T, const Matrix<T>&);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::factor
