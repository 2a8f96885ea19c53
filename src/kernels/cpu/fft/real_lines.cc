#include "kernels/cpu/fft/real_lines.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/fft/cache_by_length.h"
#include "kernels/cpu/fft/lines.h"
#include "kernels/cpu/fft/pair.h"
#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::cpu {
namespace {

// A real line x of 2h elements is transformed as the complex line z[j] = x[2j] + i x[2j + 1] of h elements.
// These functions convert between Z, the transform of z, and the bins X[0], ..., X[h] of x:
//   X[k] = (Z[k] + conj Z[h - k]) / 2 - i w^k (Z[k] - conj Z[h - k]) / 2,  w = exp(-pi i / h),  Z[h] = Z[0].
// Elements are numbers or vectors. `load(k)` returns element k, `store(k, x)` sets it; an array may be
// converted in place. roots[k] is w^k for k <= h / 2.

// Sums of halves do not overflow where the results do not.
template <class V, class R>
[[gnu::always_inline]] inline Pair<V> HalfSum(const Pair<V>& a, const Pair<V>& b) {
  return {a.re * R(0.5) + b.re * R(0.5), a.im * R(0.5) - b.im * R(0.5)};
}
template <class V, class R>
[[gnu::always_inline]] inline Pair<V> HalfDifference(const Pair<V>& a, const Pair<V>& b) {
  return {a.re * R(0.5) - b.re * R(0.5), a.im * R(0.5) + b.im * R(0.5)};
}

template <class R, class Load, class Store>
[[gnu::always_inline]] inline void TransformToBins(int64_t h, const std::complex<R>* roots, Load&& load,
                                                   Store&& store) {
  const auto z = load(0);
  using V = decltype(z.re);
  store(0, Pair<V>{z.re + z.im, V{}});
  store(h, Pair<V>{z.re - z.im, V{}});
  for (int64_t k = 1; k <= h - k; ++k) {
    const Pair<V> a = load(k), b = load(h - k);
    const Pair<V> even = HalfSum<V, R>(a, b), odd = TimesMinusI(Times(HalfDifference<V, R>(a, b), roots[k]));
    store(k, Add(even, odd));
    if (k < h - k) store(h - k, Conjugate(Subtract(even, odd)));
  }
}

// The imaginary parts of bins 0 and h are ignored.
template <class R, class Load, class Store>
[[gnu::always_inline]] inline void BinsToTransform(int64_t h, const std::complex<R>* roots, Load&& load,
                                                   Store&& store) {
  const auto first = load(0), last = load(h);
  using V = decltype(first.re);
  const V a = first.re * R(0.5), b = last.re * R(0.5);
  store(0, Pair<V>{a + b, a - b});
  for (int64_t k = 1; k <= h - k; ++k) {
    const Pair<V> low = load(k), high = load(h - k);
    const Pair<V> even = HalfSum<V, R>(low, high),
                  odd = TimesMinusI(Times(HalfDifference<V, R>(low, high), std::conj(roots[k])));
    store(k, Subtract(even, odd));
    if (k < h - k) store(h - k, Conjugate(Add(even, odd)));
  }
}

// Returns exp(-2 pi i k / n) for k = 0, ..., n / 4.
template <class R>
std::shared_ptr<const std::vector<std::complex<R>>> QuarterRoots(int64_t n) {
  using Roots = std::vector<std::complex<R>>;
  static CacheByLength<Roots> roots;
  return roots.Get(
      n, [](int64_t size) { return std::make_shared<const Roots>(UnitRoots<R>(size, size / 4 + 1)); });
}

// Loads and stores of TransformToBins and BinsToTransform.
template <class R>
auto LoadsOf(const std::complex<R>* line) {
  return [line](int64_t k) { return Pair<R>{line[k].real(), line[k].imag()}; };
}
template <class R>
auto StoresTo(std::complex<R>* line) {
  return [line](int64_t k, const Pair<R>& x) { line[k] = {x.re, x.im}; };
}
template <class R>
auto LoadsOf(const LaneSpace<R>& space) {
  return [space](int64_t k) { return Pair<Vector<R>>{space.re[k], space.im[k]}; };
}
template <class R>
auto StoresTo(const LaneSpace<R>& space) {
  return [space](int64_t k, const Pair<Vector<R>>& x) {
    space.re[k] = x.re;
    space.im[k] = x.im;
  };
}

// Transforms real lines of n = 2h elements to bins 0, ..., h.
template <class R>
void EvenToBins(const R* from, int64_t count, int64_t h, std::complex<R>* to) {
  using C = std::complex<R>;
  const C* halves = reinterpret_cast<const C*>(from);
  const auto roots = QuarterRoots<R>(2 * h);
  if (RunsInLanes<R>(h, count)) {
    const std::shared_ptr<const LinePlan<R>> plan = PlanFor<R>(h);
    return RunBunches<R>(*plan->whole, count, {halves, h, 1}, {to, h + 1, 1}, R(1),
                         [&](const LaneSpace<R>& space) {
                           plan->whole->Run(space.re, space.im, space.work);
                           TransformToBins<R>(h, roots->data(), LoadsOf(space), StoresTo(space));
                         });
  }
  CachedVector<C> z(static_cast<size_t>(count * h));
  TransformLines<R>({halves, z.data(), count, h, 1}, false);
  ParallelFor(count, static_cast<double>(count * h) * 2, [&](int64_t i) {
    TransformToBins<R>(h, roots->data(), LoadsOf<R>(z.data() + i * h), StoresTo(to + i * (h + 1)));
  });
}

// Transforms bins 0, ..., h of each line to n = 2h real numbers.
template <class R>
void BinsToEven(const std::complex<R>* from, int64_t count, int64_t h, R* to) {
  using C = std::complex<R>;
  C* halves = reinterpret_cast<C*>(to);
  const auto roots = QuarterRoots<R>(2 * h);
  if (RunsInLanes<R>(h, count)) {
    const std::shared_ptr<const LinePlan<R>> plan = PlanFor<R>(h);
    const R scale = R(1) / static_cast<R>(h);
    return RunBunches<R>(*plan->whole, count, {from, h + 1, 1}, {halves, h, 1}, scale,
                         [&](const LaneSpace<R>& space) {
                           BinsToTransform<R>(h, roots->data(), LoadsOf(space), StoresTo(space));
                           plan->whole->Run(space.im, space.re, space.work);
                         });
  }
  ParallelFor(count, static_cast<double>(count * h) * 2, [&](int64_t i) {
    BinsToTransform<R>(h, roots->data(), LoadsOf(from + i * (h + 1)), StoresTo(halves + i * h));
  });
  TransformLines<R>({halves, halves, count, h, 1}, true);
}

}  // namespace

template <class R>
void RealToBins(const R* from, int64_t count, int64_t n, std::complex<R>* to) {
  if (n % 2 == 0) return EvenToBins(from, count, n / 2, to);
  const int64_t bins = n / 2 + 1;
  CachedVector<std::complex<R>> z(static_cast<size_t>(count * n));
  std::copy_n(from, count * n, z.data());
  TransformLines<R>({z.data(), z.data(), count, n, 1}, false);
  for (int64_t i = 0; i < count; ++i) std::copy_n(z.data() + i * n, bins, to + i * bins);
}

template <class R>
void BinsToReal(const std::complex<R>* from, int64_t count, int64_t n, R* to) {
  if (n % 2 == 0) return BinsToEven(from, count, n / 2, to);
  const int64_t bins = n / 2 + 1;
  CachedVector<std::complex<R>> z(static_cast<size_t>(count * n));
  for (int64_t i = 0; i < count; ++i) {
    const std::complex<R>* line = from + i * bins;
    std::complex<R>* out = z.data() + i * n;
    out[0] = line[0].real();
    for (int64_t k = 1; k < bins; ++k) {
      out[k] = line[k];
      out[n - k] = std::conj(line[k]);
    }
  }
  TransformLines<R>({z.data(), z.data(), count, n, 1}, true);
  for (int64_t i = 0; i < count * n; ++i) to[i] = z[i].real();
}

template <class R>
int64_t RealToBinsMemory(int64_t count, int64_t n) {
  const int64_t size = n % 2 == 0 ? n / 2 : n;
  if (n % 2 == 0 && RunsInLanes<R>(size, count)) return 0;
  return count * size * static_cast<int64_t>(sizeof(std::complex<R>)) + LinesMemory<R>(size, count);
}

template <class R>
int64_t BinsToRealMemory(int64_t count, int64_t n) {
  return n % 2 == 0 ? LinesMemory<R>(n / 2, count) : RealToBinsMemory<R>(count, n);
}

#define HLO_REAL(R)                                                          \
  template void RealToBins<R>(const R*, int64_t, int64_t, std::complex<R>*); \
  template void BinsToReal<R>(const std::complex<R>*, int64_t, int64_t, R*); \
  template int64_t RealToBinsMemory<R>(int64_t, int64_t);                    \
  template int64_t BinsToRealMemory<R>(int64_t, int64_t);
HLO_REAL(float)
HLO_REAL(double)
#undef HLO_REAL

}  // namespace hlo::cpu
