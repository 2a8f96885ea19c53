#pragma once
// Small discrete Fourier transforms in registers.

#include <cmath>

#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

template <class T>
struct alignas(2 * sizeof(T)) Cx {
  T re, im;
};

template <class T>
HLO_DEVICE Cx<T> operator+(Cx<T> a, Cx<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
HLO_DEVICE Cx<T> operator-(Cx<T> a, Cx<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
HLO_DEVICE Cx<T> operator*(Cx<T> a, Cx<T> b) {
  return {std::fma(a.re, b.re, -(a.im * b.im)), std::fma(a.re, b.im, a.im * b.re)};
}
template <class T>
HLO_DEVICE Cx<T> Conj(Cx<T> a) {
  return {a.re, -a.im};
}
// Halves are added where a half of the sum is needed, because the sum may overflow.
template <class T>
HLO_DEVICE Cx<T> Half(Cx<T> a) {
  return {static_cast<T>(0.5) * a.re, static_cast<T>(0.5) * a.im};
}
// Returns i conj(a): the inverse transform is the forward one with the parts of points swapped on both sides,
// which keeps the signs of zeros.
template <class T>
HLO_DEVICE Cx<T> Swapped(Cx<T> a) {
  return {a.im, a.re};
}
// Returns -i a.
template <class T>
HLO_DEVICE Cx<T> MinusI(Cx<T> a) {
  return {a.im, -a.re};
}

// cos and sin of 2 pi k / R for k = 1 .. (R - 1) / 2, for odd primes R.
template <int R>
struct PrimeRoots;
template <>
struct PrimeRoots<3> {
  double cos[1] = {-0.5};
  double sin[1] = {0.86602540378443864676};
};
template <>
struct PrimeRoots<5> {
  double cos[2] = {0.30901699437494742410, -0.80901699437494742410};
  double sin[2] = {0.95105651629515357212, 0.58778525229247312917};
};
template <>
struct PrimeRoots<7> {
  double cos[3] = {0.62348980185873353053, -0.22252093395631440429, -0.90096886790241912624};
  double sin[3] = {0.78183148246802980871, 0.97492791218182360702, 0.43388373911755812048};
};
template <>
struct PrimeRoots<11> {
  double cos[5] = {0.84125353283118116886, 0.41541501300188642553, -0.14231483827328514044,
                   -0.65486073394528506406, -0.95949297361449738989};
  double sin[5] = {0.54064081745559758211, 0.90963199535451837141, 0.98982144188093273238,
                   0.75574957435425828377, 0.28173255684142969771};
};
template <>
struct PrimeRoots<13> {
  double cos[6] = {0.88545602565320989590,  0.56806474673115580251,  0.12053668025532305335,
                   -0.35460488704253562597, -0.74851074817110109863, -0.97094181742605202716};
  double sin[6] = {0.46472317204376854566, 0.82298386589365639458, 0.99270887409805399280,
                   0.93501624268541482344, 0.66312265824079520238, 0.23931566428755776715};
};

// Transforms the arguments in place.
template <class T>
HLO_DEVICE void Dft2(Cx<T>& a, Cx<T>& b) {
  const Cx<T> sum = a + b;
  b = a - b;
  a = sum;
}
template <class T>
HLO_DEVICE void Dft4(Cx<T>& a, Cx<T>& b, Cx<T>& c, Cx<T>& d) {
  Dft2(a, c);
  Dft2(b, d);
  d = MinusI(d);
  Dft2(a, b);
  Dft2(c, d);
  const Cx<T> second = c;
  c = b;
  b = second;
}
template <class T>
HLO_DEVICE void Dft8(Cx<T>* v) {
  constexpr T kHalfRoot = static_cast<T>(0.70710678118654752440);
  HLO_UNROLL
  for (int i = 0; i < 4; ++i) Dft2(v[i], v[i + 4]);
  v[5] = {kHalfRoot * (v[5].re + v[5].im), kHalfRoot * (v[5].im - v[5].re)};
  v[6] = MinusI(v[6]);
  v[7] = {kHalfRoot * (v[7].im - v[7].re), -kHalfRoot * (v[7].re + v[7].im)};
  Dft4(v[0], v[1], v[2], v[3]);
  Dft4(v[4], v[5], v[6], v[7]);
  const Cx<T> odd[4] = {v[4], v[5], v[6], v[7]};
  v[6] = v[3];
  v[4] = v[2];
  v[2] = v[1];
  HLO_UNROLL
  for (int i = 0; i < 4; ++i) v[2 * i + 1] = odd[i];
}

template <class T>
HLO_DEVICE void Dft16(Cx<T>* v) {
  constexpr T kCos = static_cast<T>(0.92387953251128675613), kSin = static_cast<T>(0.38268343236508977173),
              kHalfRoot = static_cast<T>(0.70710678118654752440);
  HLO_UNROLL
  for (int j = 0; j < 4; ++j) Dft4(v[j], v[j + 4], v[j + 8], v[j + 12]);
  v[5] = v[5] * Cx<T>{kCos, -kSin};
  v[6] = {kHalfRoot * (v[6].re + v[6].im), kHalfRoot * (v[6].im - v[6].re)};
  v[7] = v[7] * Cx<T>{kSin, -kCos};
  v[9] = {kHalfRoot * (v[9].re + v[9].im), kHalfRoot * (v[9].im - v[9].re)};
  v[10] = MinusI(v[10]);
  v[11] = {kHalfRoot * (v[11].im - v[11].re), -kHalfRoot * (v[11].re + v[11].im)};
  v[13] = v[13] * Cx<T>{kSin, -kCos};
  v[14] = {kHalfRoot * (v[14].im - v[14].re), -kHalfRoot * (v[14].re + v[14].im)};
  v[15] = v[15] * Cx<T>{-kCos, kSin};
  HLO_UNROLL
  for (int q = 0; q < 16; q += 4) Dft4(v[q], v[q + 1], v[q + 2], v[q + 3]);
  HLO_UNROLL
  for (int q = 0; q < 4; ++q) {
    HLO_UNROLL
    for (int p = 0; p < q; ++p) {
      const Cx<T> swapped = v[4 * q + p];
      v[4 * q + p] = v[4 * p + q];
      v[4 * p + q] = swapped;
    }
  }
}

template <int R, class T>
HLO_DEVICE void OddDft(Cx<T>* v) {
  constexpr PrimeRoots<R> roots;
  constexpr int kHalf = (R - 1) / 2;
  Cx<T> sum[kHalf], difference[kHalf], total = v[0];
  HLO_UNROLL
  for (int j = 0; j < kHalf; ++j) {
    sum[j] = v[j + 1] + v[R - 1 - j];
    difference[j] = v[j + 1] - v[R - 1 - j];
    total = total + sum[j];
  }
  HLO_UNROLL
  for (int k = 1; k <= kHalf; ++k) {
    Cx<T> even = v[0], odd = {0, 0};
    HLO_UNROLL
    for (int j = 1; j <= kHalf; ++j) {
      const int r = j * k % R;
      const T c = static_cast<T>(roots.cos[r <= kHalf ? r - 1 : R - r - 1]);
      const T s = static_cast<T>(r <= kHalf ? roots.sin[r - 1] : -roots.sin[R - r - 1]);
      even = {std::fma(c, sum[j - 1].re, even.re), std::fma(c, sum[j - 1].im, even.im)};
      odd = {std::fma(s, difference[j - 1].re, odd.re), std::fma(s, difference[j - 1].im, odd.im)};
    }
    v[k] = even + MinusI(odd);
    v[R - k] = even - MinusI(odd);
  }
  v[0] = total;
}

// Computes v[k] = sum over j of v[j] exp(-2 pi i j k / R) in place.
template <int R, class T>
HLO_DEVICE void Dft(Cx<T>* v) {
  if constexpr (R == 2)
    Dft2(v[0], v[1]);
  else if constexpr (R == 4)
    Dft4(v[0], v[1], v[2], v[3]);
  else if constexpr (R == 8)
    Dft8(v);
  else if constexpr (R == 16)
    Dft16(v);
  else
    OddDft<R>(v);
}

}  // namespace hlo::cuda
