// Tests the error bounds of elementwise functions against exact values, and against long double on a grid.

#include "debug/shadow/element_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace hlo::debug::element_bounds_test {
namespace {

double BoundOf(Opcode opcode, Bounded a, Bounded b, double result) {
  const Bounded operands[] = {a, b, {}};
  return InheritedBound(opcode, operands, result);
}

// The extremes of the operations on the intervals are exact in binary.
TEST(ElementBounds, ArithmeticReachesItsExtremes) {
  EXPECT_EQ(BoundOf(Opcode::kAdd, {2, 0.5}, {3, 0.25}, 5), 0.75);
  EXPECT_EQ(BoundOf(Opcode::kSubtract, {2, 0.5}, {3, 0.25}, -1), 0.75);
  EXPECT_EQ(BoundOf(Opcode::kMultiply, {2, 0.5}, {3, 0.25}, 6), 2.5 * 3.25 - 6);
  EXPECT_DOUBLE_EQ(BoundOf(Opcode::kDivide, {6, 1}, {2, 0.5}, 3), 7 / 1.5 - 3);
  EXPECT_EQ(BoundOf(Opcode::kNegate, {2, 0.5}, {}, -2), 0.5);
}

TEST(ElementBounds, AQuotientByAnIntervalAroundZeroIsUnbounded) {
  EXPECT_EQ(BoundOf(Opcode::kDivide, {6, 0}, {0.25, 0.5}, 24), std::numeric_limits<double>::infinity());
}

TEST(ElementBounds, AnExtremumHasTheBoundOfOperandsThatCanBeSelected) {
  EXPECT_EQ(BoundOf(Opcode::kMaximum, {5, 0.5}, {1, 2}, 5), 0.5);
  EXPECT_EQ(BoundOf(Opcode::kMaximum, {5, 0.5}, {4, 2}, 5), 2);
  EXPECT_EQ(BoundOf(Opcode::kMinimum, {5, 0.5}, {1, 2}, 1), 2);
}

TEST(ElementBounds, ExactOperandsGiveNoInheritedError) {
  for (const Opcode opcode : {Opcode::kAdd, Opcode::kMultiply, Opcode::kDivide, Opcode::kPower})
    EXPECT_EQ(BoundOf(opcode, {2, 0}, {3, 0}, std::pow(2.0, 3)), 0) << Name(opcode);
}

// Rounding to integers jumps where the interval holds a boundary.
TEST(ElementBounds, StepFunctionsJump) {
  EXPECT_EQ(BoundOf(Opcode::kFloor, {2.5, 0.25}, {}, 2), 0);
  EXPECT_EQ(BoundOf(Opcode::kFloor, {2.125, 0.25}, {}, 2), 1);
  EXPECT_EQ(BoundOf(Opcode::kSign, {0.125, 0.25}, {}, 1), 2);
  EXPECT_EQ(BoundOf(Opcode::kSign, {0.5, 0.25}, {}, 1), 0);
}

struct Function {
  Opcode opcode;
  long double (*exact)(long double);
  double low, high;
};

long double RsqrtExact(long double x) { return 1 / std::sqrt(x); }
long double LogisticExact(long double x) { return 1 / (1 + std::exp(-x)); }
using Exact = long double (*)(long double);

const Function kFunctions[] = {
    {Opcode::kExponential, static_cast<Exact>(std::exp), -20, 20},
    {Opcode::kExponentialMinusOne, static_cast<Exact>(std::expm1), -5, 5},
    {Opcode::kExp2, static_cast<Exact>(std::exp2), -20, 20},
    {Opcode::kLog, static_cast<Exact>(std::log), 0.01, 100},
    {Opcode::kLog2, static_cast<Exact>(std::log2), 0.01, 100},
    {Opcode::kLogPlusOne, static_cast<Exact>(std::log1p), -0.9, 10},
    {Opcode::kSqrt, static_cast<Exact>(std::sqrt), 0.01, 100},
    {Opcode::kRsqrt, RsqrtExact, 0.1, 100},
    {Opcode::kCbrt, static_cast<Exact>(std::cbrt), -10, 10},
    {Opcode::kTanh, static_cast<Exact>(std::tanh), -5, 5},
    {Opcode::kLogistic, LogisticExact, -20, 20},
    {Opcode::kErf, static_cast<Exact>(std::erf), -3, 3},
    {Opcode::kSinh, static_cast<Exact>(std::sinh), -5, 5},
    {Opcode::kCosh, static_cast<Exact>(std::cosh), -5, 5},
    {Opcode::kSine, static_cast<Exact>(std::sin), -10, 10},
    {Opcode::kCosine, static_cast<Exact>(std::cos), -10, 10},
    {Opcode::kTan, static_cast<Exact>(std::tan), -1.4, 1.4},
    {Opcode::kAsin, static_cast<Exact>(std::asin), -0.9, 0.9},
    {Opcode::kAcos, static_cast<Exact>(std::acos), -0.9, 0.9},
    {Opcode::kAsinh, static_cast<Exact>(std::asinh), -10, 10},
    {Opcode::kAcosh, static_cast<Exact>(std::acosh), 1.1, 10},
    {Opcode::kAtanh, static_cast<Exact>(std::atanh), -0.9, 0.9},
};

// The largest distance to values in the interval, on a grid that holds its ends.
double LargestDistance(const Function& function, double x, double bound, double result) {
  constexpr int kPoints = 64;
  long double largest = 0;
  for (int k = -kPoints; k <= kPoints; ++k) {
    const long double at = static_cast<long double>(x) + static_cast<long double>(bound) * k / kPoints;
    largest = std::max(largest, std::fabs(function.exact(at) - static_cast<long double>(result)));
  }
  return static_cast<double>(largest);
}

class FunctionBounds : public testing::TestWithParam<Function> {};
INSTANTIATE_TEST_SUITE_P(All, FunctionBounds, testing::ValuesIn(kFunctions), [](const auto& info) {
  std::string name(Name(info.param.opcode));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(FunctionBounds, CoverEveryValueOfTheIntervalTightly) {
  const Function& function = GetParam();
  for (int i = 0; i <= 40; ++i) {
    const double x = function.low + (function.high - function.low) * i / 40;
    for (const double bound : {1e-12, 1e-6, 1e-3}) {
      const auto result = static_cast<double>(function.exact(static_cast<long double>(x)));
      const double exact = LargestDistance(function, x, bound, result);
      const double got = BoundOf(function.opcode, {x, bound}, {}, result);
      // Both values are rounded once more.
      const double slack = 4 * std::numeric_limits<double>::epsilon() * std::max(1.0, std::fabs(result));
      EXPECT_GE(got + slack, exact) << x << " +- " << bound;
      // Sine and cosine take 1 for their slope, tan twice its own.
      const bool is_loose = function.opcode == Opcode::kSine || function.opcode == Opcode::kCosine;
      EXPECT_LE(got, (is_loose ? bound : 2.5 * exact) + slack) << x << " +- " << bound;
    }
  }
}

TEST(ElementBounds, PowersCoverTheCornersOfTheirOperands) {
  for (const double base : {0.5, 1.5, 7.0}) {
    for (const double exponent : {-2.5, 0.5, 3.0}) {
      const double result = std::pow(base, exponent),
                   bound = BoundOf(Opcode::kPower, {base, 0.01}, {exponent, 0.02}, result);
      for (const double a : {base - 0.01, base + 0.01}) {
        for (const double b : {exponent - 0.02, exponent + 0.02})
          EXPECT_GE(bound, std::fabs(std::pow(a, b) - result)) << a << "^" << b;
      }
    }
  }
}

TEST(ElementBounds, RemaindersMayWrapAround) {
  EXPECT_LE(BoundOf(Opcode::kRemainder, {7.5, 0.25}, {2, 0}, 1.5), 0.25);
  EXPECT_GE(BoundOf(Opcode::kRemainder, {8.125, 0.25}, {2, 0}, 0.125), 1.75);
}

}  // namespace
}  // namespace hlo::debug::element_bounds_test
