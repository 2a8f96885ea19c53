#pragma once
// The six accumulator types of products of any element types, and their arithmetic.

#include <cmath>
#include <cstdint>

#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

template <class R>
struct alignas(2 * sizeof(R)) ComplexNumber {
  R re = 0, im = 0;
  HLO_DEVICE bool operator==(const ComplexNumber& other) const { return re == other.re && im == other.im; }
};

// Returns a * b + c. Floats are rounded once; complex numbers use one fused multiply-add per real product,
// the real part's first.
HLO_DEVICE float MultiplyAdd(float a, float b, float c) { return fmaf(a, b, c); }
HLO_DEVICE double MultiplyAdd(double a, double b, double c) { return fma(a, b, c); }
HLO_DEVICE uint32_t MultiplyAdd(uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }
HLO_DEVICE uint64_t MultiplyAdd(uint64_t a, uint64_t b, uint64_t c) { return a * b + c; }
template <class R>
HLO_DEVICE ComplexNumber<R> MultiplyAdd(ComplexNumber<R> a, ComplexNumber<R> b, ComplexNumber<R> c) {
  c.re = MultiplyAdd(a.re, b.re, c.re);
  c.re = MultiplyAdd(-a.im, b.im, c.re);
  c.im = MultiplyAdd(a.re, b.im, c.im);
  c.im = MultiplyAdd(a.im, b.re, c.im);
  return c;
}

template <class T>
HLO_DEVICE T Sum(T a, T b) {
  return a + b;
}
template <class R>
HLO_DEVICE ComplexNumber<R> Sum(ComplexNumber<R> a, ComplexNumber<R> b) {
  return {a.re + b.re, a.im + b.im};
}

}  // namespace hlo::cuda
