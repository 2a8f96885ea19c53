#pragma once
// Division by an invariant divisor that is known when the kernel is launched: three instructions instead of
// twenty.

#include <cstdint>

#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

// Computes n / divisor, exact for 0 <= n < 2^31 and 1 <= divisor < 2^31.
struct FastDiv {
  uint32_t divisor = 1, multiplier = 1, shift = 0;

  FastDiv() = default;
  explicit FastDiv(uint32_t d) : divisor(d) {
    while (shift < 31 && (1u << shift) < d) ++shift;
    multiplier = static_cast<uint32_t>(((uint64_t{1} << 32) * ((uint64_t{1} << shift) - d)) / d + 1);
  }

  HLO_DEVICE uint32_t Quotient(uint32_t n) const {
#ifdef __CUDA_ARCH__
    return (__umulhi(n, multiplier) + n) >> shift;
#else
    return (static_cast<uint32_t>((uint64_t{n} * multiplier) >> 32) + n) >> shift;
#endif
  }
};

}  // namespace hlo::cuda
