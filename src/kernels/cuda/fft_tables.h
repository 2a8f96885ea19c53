#pragma once
// Constants of Fourier transforms, from long double.

#include <complex>
#include <cstdint>
#include <vector>

namespace hlo::cuda {

using LongComplex = std::complex<long double>;

// exp(-2 pi i j / n), from the exact fraction of an octant.
LongComplex RootOfUnity(uint64_t j, uint64_t n);
// exp(-pi i j^2 / n) for j < n.
std::vector<LongComplex> Chirp(int64_t n);
// Of the conjugate chirp of n, around 0 modulo m: its transform of length m.
std::vector<LongComplex> ChirpSpectrum(int64_t n, int64_t m);

}  // namespace hlo::cuda
