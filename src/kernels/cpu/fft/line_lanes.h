#pragma once
// This file moves complex lines between memory and lanes: element k of kLanes lines is one vector of real and
// one of imaginary parts.

#include <complex>
#include <cstdint>

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// Sets re[k], im[k] to element k of `count` lines of n elements, which begin at from[start[...]] and have
// stride `step`. Unused lanes are zero.
template <class R>
void Gather(const std::complex<R>* from, const int64_t* start, int64_t count, int64_t n, int64_t step,
            Vector<R>* re, Vector<R>* im);

// Stores the lanes in the lines, multiplied by `scale`.
template <class R>
void Scatter(const Vector<R>* re, const Vector<R>* im, const int64_t* start, int64_t count, int64_t n,
             int64_t step, R scale, std::complex<R>* to);

}  // namespace hlo::cpu
