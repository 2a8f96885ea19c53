#pragma once
// This file divides many numbers by a common divisor.

#include <cmath>

#include "types/matrix.h"

namespace hlo::lapack {

template <class T>
class Divisor {
 public:
  explicit Divisor(T d) : d_(d) {}
  T Divide(T x) const { return x / d_; }

 private:
  T d_;
};

// Uses Smith's algorithm: terms of the divisor are computed once, and its square is never formed.
template <>
class Divisor<std::complex<double>> {
 public:
  explicit Divisor(std::complex<double> d) {
    const bool is_real = std::abs(d.real()) >= std::abs(d.imag());
    const double ratio = is_real ? d.imag() / d.real() : d.real() / d.imag();
    real_ = is_real ? 1 : ratio;
    imag_ = is_real ? ratio : 1;
    scale_ = is_real ? d.real() + d.imag() * ratio : d.real() * ratio + d.imag();
  }
  std::complex<double> Divide(std::complex<double> x) const {
    return {Real(x.real(), x.imag()), Imag(x.real(), x.imag())};
  }
  // Real and Imag return the parts of a quotient, for scalars or vectors.
  template <class V>
  V Real(V re, V im) const {
    return (re * real_ + im * imag_) / scale_;
  }
  template <class V>
  V Imag(V re, V im) const {
    return (im * real_ - re * imag_) / scale_;
  }

 private:
  double real_, imag_, scale_;
};

}  // namespace hlo::lapack
