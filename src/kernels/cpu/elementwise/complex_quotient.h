#pragma once

#include <cmath>
#include <complex>

#include "kernels/cpu/elementwise/tile_loops.h"
#include "types/scalar_ops.h"

namespace hlo::cpu {

// Divides c64 numbers. Products of f32 numbers are exact in f64, and their sums are in its range, so that the
// definition of the quotient needs no scaling. scalar::Divide defines special values.
struct ComplexQuotient {
  std::complex<float> operator()(std::complex<float> a, std::complex<float> b) const {
    const float c = b.real(), d = b.imag();
    const double norm = static_cast<double>(c) * c + static_cast<double>(d) * d;
    // Numerators that are zero have the sign that they would have after division by the larger component.
    const float sign = std::copysign(1.0f, std::abs(c) < std::abs(d) ? d : c);
    const double x = a.real() * sign, y = a.imag() * sign;
    const std::complex<float> quotient(static_cast<float>((x * c + y * d) / norm) * sign,
                                       static_cast<float>((y * c - x * d) / norm) * sign);
    const bool is_special = std::isnan(quotient.real()) || std::isnan(quotient.imag());
    return is_special ? ThroughF64<scalar::Divide>()(a, b) : quotient;
  }
};

}  // namespace hlo::cpu
