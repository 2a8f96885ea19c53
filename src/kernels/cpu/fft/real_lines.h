#pragma once
// Transforms between dense real lines and their bins.

#include <complex>
#include <cstdint>

namespace hlo::cpu {

// Transforms `count` real lines of n elements to bins 0, ..., n / 2.
template <class R>
void RealToBins(const R* from, int64_t count, int64_t n, std::complex<R>* to);

// Transforms bins 0, ..., n / 2 of each line to n real numbers, divided by n.
template <class R>
void BinsToReal(const std::complex<R>* from, int64_t count, int64_t n, R* to);

// Return the bytes that they allocate besides plans and the scratch vectors of threads.
template <class R>
int64_t RealToBinsMemory(int64_t count, int64_t n);
template <class R>
int64_t BinsToRealMemory(int64_t count, int64_t n);

}  // namespace hlo::cpu
