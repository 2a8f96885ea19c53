#pragma once
// The asymptotic series of digamma and of the Hurwitz zeta function, for every engine.

namespace hlo {

// Bernoulli numbers B_2, B_4, ..., B_20.
inline constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30,      1.0 / 42, -1.0 / 30,
                                        5.0 / 66,      -691.0 / 2730,  7.0 / 6,  -3617.0 / 510,
                                        43867.0 / 798, -174611.0 / 330};
// From here on the series with these numbers are accurate to 1e-17.
inline constexpr int kAsymptotic = 12;

}  // namespace hlo
