#pragma once
// The factors of discrete Fourier transforms.

#include <complex>
#include <cstdint>

namespace hlo {

// Returns exp(-2 pi i j / n). Multiples of a quarter turn are exact: transforms of symmetric data then have
// imaginary parts of zero, whose sign an angle depends on.
std::complex<long double> RootOfUnity(uint64_t j, uint64_t n);

}  // namespace hlo
