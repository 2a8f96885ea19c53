#pragma once
// Normal random numbers by the Box-Muller transform (semantics 7.7). They are computed from IEEE additions,
// multiplications, divisions and square roots alone, so that the host and GPUs, whose elementary functions of
// f64 differ in the last bits, give the same bits. Both compile this file without contraction.

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/host_device.h"
#include "base/unroll.h"

namespace hlo {

// Returns a number in [0, 1) from the high 53 bits of a word.
HLO_HOST_DEVICE double RandomFraction(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

// Returns the logarithm of a normal number in (0, 1] within a few ULP: x = m * 2^e with m near 1, and log m =
// 2 artanh(s) with s = (m - 1) / (m + 1).
HLO_HOST_DEVICE double LogOfFraction(double x) {
  constexpr double kLog2High = 0x1.62e42feep-1, kLog2Low = 0x1.a39ef35793c76p-33;
  const auto bits = std::bit_cast<uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52) - 1023;
  auto m = std::bit_cast<double>((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1), z = s * s;
  double series = 1.0 / 23;
  HLO_UNROLL_EVERYWHERE
  for (int k = 21; k >= 3; k -= 2) series = series * z + 1.0 / k;
  const double rest = 2 * s * (z * series), e = exponent;
  return e * kLog2High + (e * kLog2Low + rest + 2 * s);
}

// Returns cos(2 pi u) for multiples u of 2^-53 in [0, 1). The reduction to [-pi / 4, pi / 4] is exact.
HLO_HOST_DEVICE double Cos2Pi(double u) {
  const auto quarter = static_cast<int>(4 * u + 0.5);
  const double x = 6.283185307179586 * (u - 0.25 * quarter), z = x * x;
  double value;
  if (quarter % 2 == 0) {
    double series = 1;
    HLO_UNROLL_EVERYWHERE
    for (int k = 18; k >= 4; k -= 2) series = 1 - z * (1.0 / (k * (k - 1))) * series;
    value = 1 - 0.5 * z * series;
  } else {
    double series = 1;
    HLO_UNROLL_EVERYWHERE
    for (int k = 19; k >= 3; k -= 2) series = 1 - z * (1.0 / (k * (k - 1))) * series;
    value = x * series;
  }
  return quarter == 1 || quarter == 2 ? -value : value;
}

// Returns a normal number with mean a and standard deviation b from two random words.
HLO_HOST_DEVICE double NormalNumber(uint64_t first, uint64_t second, double a, double b) {
  const double radius = std::sqrt(-2 * LogOfFraction(1 - RandomFraction(first)));
  return Cos2Pi(RandomFraction(second)) * radius * b + a;
}

}  // namespace hlo
