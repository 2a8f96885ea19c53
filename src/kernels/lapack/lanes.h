#pragma once
// This file wraps SIMD vectors of double and std::complex<double> (interleaved).

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/arithmetic.h"
#include "kernels/cpu/simd/simd.h"
#include "types/matrix.h"

namespace hlo::lapack {

using Complex = std::complex<double>;
using Lanes = cpu::Vector<double>;
inline constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;

template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, double>;
// Doubles per element, and elements per vector.
template <class T>
inline constexpr int kWords = kIsComplex<T> ? 2 : 1;
template <class T>
inline constexpr int64_t kElements = cpu::kLanes<double> / kWords<T>;

// Returns a leading dimension that aligns lines of n elements to 64 bytes. It is an odd number of cache
// lines, because power-of-two strides cause cache conflicts.
constexpr int64_t PaddedLength(int64_t n, int64_t element_bytes) {
  return (CeilDiv(n * element_bytes, 64) | 1) * 64 / element_bytes;
}
template <class T>
constexpr int64_t PaddedLength(int64_t n) {
  return PaddedLength(n, sizeof(T));
}

// Multiplies without the standard's checks for infinities, which cost a call.
inline double Times(double a, double b) { return a * b; }
inline Complex Times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline double SquareOf(double x) { return x * x; }
inline double SquareOf(Complex x) { return x.real() * x.real() + x.imag() * x.imag(); }
inline double RealOf(double x) { return x; }
inline double RealOf(Complex x) { return x.real(); }
inline double ImagOf(double) { return 0; }
inline double ImagOf(Complex x) { return x.imag(); }
// Smaller squares lose precision.
inline constexpr double kMinSquare = 1e-280;
// Returns the interleaved real and imaginary parts.
template <class T>
auto* PartsOf(T* x) {
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const double, double>*>(x);
}

namespace internal {
template <size_t... kLane>
[[gnu::always_inline]] inline Lanes Swapped(Lanes v, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(v, v, static_cast<int>(kLane ^ 1)...);
}
template <size_t... kLane>
[[gnu::always_inline]] inline Lanes Alternating(double x, std::index_sequence<kLane...>) {
  return Lanes{(kLane % 2 == 0 ? -x : x)...};
}
template <size_t... kLane>
[[gnu::always_inline]] inline cpu::Vector<int64_t> LaneNumbers(std::index_sequence<kLane...>) {
  return cpu::Vector<int64_t>{static_cast<int64_t>(kLane)...};
}
}  // namespace internal
// Swaps the real and imaginary parts of complex elements.
template <class T>
[[gnu::always_inline]] inline Lanes Swapped(Lanes v) {
  if constexpr (kIsComplex<T>)
    return internal::Swapped(v, std::make_index_sequence<cpu::kLanes<double>>());
  else
    return v;
}

// A scalar factor of vectors of T.
template <class T>
struct Scalar {
  Scalar() = default;
  explicit Scalar(T x) : real(cpu::Broadcast(RealOf(x))) {
    if constexpr (kIsComplex<T>)
      imag = internal::Alternating(ImagOf(x), std::make_index_sequence<cpu::kLanes<double>>());
  }
  [[gnu::always_inline]] Lanes operator*(Lanes x) const { return Times(x, Swapped<T>(x)); }
  [[gnu::always_inline]] Lanes Times(Lanes x, Lanes swapped) const {
    if constexpr (kIsComplex<T>)
      return real * x + imag * swapped;
    else
      return real * x;
  }
  Lanes real, imag;
};

// Accumulates the sum of conj(x) y.
template <class T>
struct DotSum {
  [[gnu::always_inline]] void Add(Lanes x, Lanes y) { Add(x, Swapped<T>(x), y); }
  [[gnu::always_inline]] void Add(Lanes x, Lanes swapped, Lanes y) {
    same += x * y;
    if constexpr (kIsComplex<T>) crossed += swapped * y;
  }
  void Add(const DotSum& other) {
    same += other.same;
    if constexpr (kIsComplex<T>) crossed += other.crossed;
  }
  T Total() const {
    if constexpr (kIsComplex<T>) {
      const Lanes signs = internal::Alternating(1, std::make_index_sequence<cpu::kLanes<double>>());
      return {cpu::SumOfLanes<double>(same), cpu::SumOfLanes<double>(signs * crossed)};
    } else {
      return cpu::SumOfLanes<double>(same);
    }
  }
  Lanes same{}, crossed{};
};

// Load and store a full vector (Whole), or its first elements (First).
template <class T>
struct Whole {
  [[gnu::always_inline]] Lanes Load(const T* from) const { return cpu::LoadVector(PartsOf(from)); }
  [[gnu::always_inline]] void Store(T* to, Lanes v) const { cpu::StoreVector(PartsOf(to), v); }
};
template <class T>
struct First {
  [[gnu::always_inline]] Lanes Load(const T* from) const {
    return cpu::LoadFirst(PartsOf(from), count * kWords<T>);
  }
  [[gnu::always_inline]] void Store(T* to, Lanes v) const {
    cpu::StoreFirst(PartsOf(to), v, count * kWords<T>);
  }
  int count;
};

// Loads and stores the elements of a vector from `first` on. The others are loaded as 0 and not stored.
template <class T>
struct Rest {
  explicit Rest(int64_t first)
      : covered(internal::LaneNumbers(std::make_index_sequence<cpu::kLanes<double>>()) >= first * kWords<T>) {
  }
  [[gnu::always_inline]] Lanes Load(const T* from) const { return covered ? Whole<T>{}.Load(from) : Lanes{}; }
  [[gnu::always_inline]] void Store(T* to, Lanes v) const {
    Whole<T>{}.Store(to, covered ? v : Whole<T>{}.Load(to));
  }
  cpu::Vector<int64_t> covered;
};

// Calls f(i, part) for the vectors of elements [begin, end). The inner ones are full and aligned with the
// lines.
template <class T, class F>
[[gnu::always_inline]] inline void EachVector(int64_t begin, int64_t end, F&& f) {
  constexpr int64_t n = kElements<T>;
  const int64_t aligned = std::min(end, RoundUp(begin, n));
  if (begin < aligned) f(begin, First<T>{static_cast<int>(aligned - begin)});
  int64_t i = aligned;
  for (; i + n <= end; i += n) f(i, Whole<T>{});
  if (i < end) f(i, First<T>{static_cast<int>(end - i)});
}

// Returns the sum of conj(x[i]) y[i] for begin <= i < end.
template <class T>
T Dot(const T* x, const T* y, int64_t begin, int64_t end) {
  constexpr int kSums = 4;  // Independent accumulators hide the latency.
  DotSum<T> sum;
  int64_t i = begin;
  if (end - i >= kSums * kElements<T>) {
    DotSum<T> sums[kSums];
    for (; i + kSums * kElements<T> <= end; i += kSums * kElements<T>) {
      for (int k = 0; k < kSums; ++k) {
        const int64_t at = i + k * kElements<T>;
        sums[k].Add(Whole<T>{}.Load(x + at), Whole<T>{}.Load(y + at));
      }
    }
    for (const DotSum<T>& some : sums) sum.Add(some);
  }
  EachVector<T>(i, end, [&](int64_t at, auto part) { sum.Add(part.Load(x + at), part.Load(y + at)); });
  return sum.Total();
}

template <class T>
double SumOfSquares(const T* x, int64_t begin, int64_t end) {
  return Dot(PartsOf(x), PartsOf(x), begin * kWords<T>, end * kWords<T>);
}

// Computes y += factor x.
template <class T>
void AddMultiple(T factor, const T* x, T* y, int64_t begin, int64_t end) {
  const Scalar<T> scalar(factor);
  EachVector<T>(begin, end, [&](int64_t i, auto part) {
    part.Store(y + i, part.Load(y + i) + scalar * part.Load(x + i));
  });
}

template <class T>
void Scale(T factor, T* x, int64_t begin, int64_t end) {
  const Scalar<T> scalar(factor);
  EachVector<T>(begin, end, [&](int64_t i, auto part) { part.Store(x + i, scalar * part.Load(x + i)); });
}

// Applies a Givens rotation: rows x and y become c x + s y and c y - s x.
inline void RotateRows(double* x, double* y, double c, double s, int64_t begin, int64_t end) {
  const Lanes cosine = cpu::Broadcast(c), sine = cpu::Broadcast(s);
  EachVector<double>(begin, end, [&](int64_t i, auto part) {
    const Lanes a = part.Load(x + i), b = part.Load(y + i);
    part.Store(x + i, cosine * a + sine * b);
    part.Store(y + i, cosine * b - sine * a);
  });
}

}  // namespace hlo::lapack
