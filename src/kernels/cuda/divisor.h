#pragma once
// Division by a number that is known before the launch.

#include <cstdint>

#include "kernels/cuda/portable.h"

namespace hlo::cuda {

// Quotients of numbers below 2^31 by a divisor from 1 to 2^31 - 1: one multiplication, one shift.
struct Divisor {
  uint32_t divisor = 1, multiplier = 0, shift = 0;

  Divisor() = default;
  explicit Divisor(uint32_t d) : divisor(d) {
    while ((uint64_t{1} << shift) < d) ++shift;  // 2^(31 + shift) / d, rounded up, fits into 32 bits.
    multiplier = d == 1 ? 0 : static_cast<uint32_t>(((uint64_t{1} << (31 + shift)) + d - 1) / d);
  }
  HLO_DEVICE uint32_t Quotient(uint32_t n) const {
    if (multiplier == 0) return n;
    return static_cast<uint32_t>((uint64_t{n} * multiplier) >> 32) >> (shift - 1);
  }
  HLO_DEVICE uint32_t Remainder(uint32_t n) const { return n - Quotient(n) * divisor; }
};

}  // namespace hlo::cuda
