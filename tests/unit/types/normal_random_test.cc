// The functions of normal random numbers against the host's in extended precision.

#include "types/normal_random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace hlo::normal_random_test {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

std::vector<double> Fractions() {
  std::vector<double> fractions = {0, 0x1p-53, 0x1p-30, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875};
  for (const double x : {0.125, 0.25, 0.29289321881345254, 0.375, 0.5, 0.75, 1.0}) {
    fractions.push_back(x - 0x1p-53);
    if (x < 1) fractions.push_back(x + 0x1p-52);
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) fractions.push_back(RandomFraction(random()));
  return fractions;
}

TEST(NormalRandom, LogarithmIsWithinTwoEpsilons) {
  for (const double u : Fractions()) {
    const long double want = std::log(1 - static_cast<long double>(u));
    EXPECT_LE(std::fabs(LogOfFraction(1 - u) - want), 2 * kEpsilon * std::fabs(want)) << u;
  }
}

TEST(NormalRandom, CosineIsWithinTwoEpsilons) {
  for (const double u : Fractions()) {
    // Sine near its zeros: the argument of the cosine would lose the low bits of u.
    const double quarter = std::round(4 * u);
    const long double x = 2 * std::numbers::pi_v<long double> * (static_cast<long double>(u) - quarter / 4);
    const int turn = static_cast<int>(quarter) % 4;
    const long double want = turn == 0   ? std::cos(x)
                             : turn == 1 ? -std::sin(x)
                             : turn == 2 ? -std::cos(x)
                                         : std::sin(x);
    EXPECT_LE(std::fabs(Cos2Pi(u) - want), 2 * kEpsilon * std::fabs(want)) << u;
  }
}

TEST(NormalRandom, MeanAndDeviation) {
  EXPECT_EQ(NormalNumber(0, 0, 1.5, 2), 1.5);  // Radius 0.
  std::mt19937_64 random(8);
  constexpr int kCount = 200000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const uint64_t first = random(), second = random();
    const double x = NormalNumber(first, second, 3, 2) - 3;
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 5 * 2 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 4, 5 * 4 * std::sqrt(2.0 / kCount));
}

}  // namespace
}  // namespace hlo::normal_random_test
