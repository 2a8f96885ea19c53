#pragma once
// Between lines of complex numbers in memory and lanes: element k of as many lines as a vector has lanes is
// one vector of real and one of imaginary parts.

#include <complex>
#include <cstdint>

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// re[k], im[k] = element k of `count` lines of n, which begin at from[start[...]] and whose elements are
// `step` apart; lanes without a line are zeros.
template <class R>
void Gather(const std::complex<R>* from, const int64_t* start, int64_t count, int64_t n, int64_t step,
            Vector<R>* re, Vector<R>* im);

// The other way, times `scale`.
template <class R>
void Scatter(const Vector<R>* re, const Vector<R>* im, const int64_t* start, int64_t count, int64_t n,
             int64_t step, R scale, std::complex<R>* to);

}  // namespace hlo::cpu
