#pragma once
// Complex numbers whose parts are numbers or vectors.

#include <complex>

namespace hlo::cpu {

template <class V>
struct Pair {
  V re, im;
};

template <class V, class R>
[[gnu::always_inline]] inline Pair<V> Times(const Pair<V>& x, std::complex<R> w) {
  return {x.re * w.real() - x.im * w.imag(), x.re * w.imag() + x.im * w.real()};
}
template <class V>
[[gnu::always_inline]] inline Pair<V> Add(const Pair<V>& a, const Pair<V>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
[[gnu::always_inline]] inline Pair<V> Subtract(const Pair<V>& a, const Pair<V>& b) {
  return {a.re - b.re, a.im - b.im};
}
// Returns -i x.
template <class V>
[[gnu::always_inline]] inline Pair<V> TimesMinusI(const Pair<V>& x) {
  return {x.im, -x.re};
}
template <class V>
[[gnu::always_inline]] inline Pair<V> Conjugate(const Pair<V>& x) {
  return {x.re, -x.im};
}

}  // namespace hlo::cpu
