#pragma once
// Constant tables of Fourier transforms, computed in long double.

#include <complex>
#include <cstdint>
#include <vector>

namespace hlo::cuda {

using LongComplex = std::complex<long double>;

// Returns exp(-pi i j^2 / n) for j < n.
std::vector<LongComplex> Chirp(int64_t n);
// Returns the DFT of length m of the conjugate chirp of n, extended evenly around 0 modulo m.
std::vector<LongComplex> ChirpSpectrum(int64_t n, int64_t m);

}  // namespace hlo::cuda
