// Tests verdicts of shadow runs on infinities: those that overflows give and those of poles.

#include <algorithm>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "debug/shadow/verdict.h"
#include "shadow_helpers.h"

namespace hlo::debug {
namespace {

using test::Checked;
using test::F32;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

// Judges the first element of another result of a function of x and y.
OutputVerdict Judged(const std::string& body, float x, float y, float other) {
  const CheckedModule& module = Checked(
      "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n"
      "  y = f32[2] parameter(1)\n" +
      body + "\n}\n");
  const ShadowReport report = *RunShadow(module, {F32({x, 1}), F32({y, 1})}, {});
  Literal got = Declared(report.result);
  EXPECT_TRUE(got.MakeUnique().ok());
  got.mutable_span<float>()[0] = other;
  return Judge(report, module.module(), got)[0];
}

RoundingVerdict VerdictOf(const std::string& body, float x, float y, float other) {
  return Judged(body, x, y, other).verdict;
}

bool IsLegal(const std::string& body, float x, float y, float other) {
  return !IsUnexplained(Judged(body, x, y, other));
}

TEST(ShadowSpecials, ANumberIsNoResultOfAPole) {
  constexpr char kDivide[] = "  ROOT r = f32[2] divide(x, y)";
  EXPECT_TRUE(IsLegal(kDivide, 1, 0, kInf));
  EXPECT_EQ(VerdictOf(kDivide, 1, 0, 5), RoundingVerdict::kBug);
  EXPECT_EQ(VerdictOf(kDivide, 1, 0, -kInf), RoundingVerdict::kBug);
  EXPECT_EQ(VerdictOf(kDivide, 1, 0, kLargest), RoundingVerdict::kBug);
  EXPECT_EQ(VerdictOf(kDivide, 1, 1, kInf), RoundingVerdict::kBug);
  constexpr char kRsqrt[] = "  ROOT r = f32[2] rsqrt(x)";
  EXPECT_TRUE(IsLegal(kRsqrt, 0, 0, kInf));
  EXPECT_EQ(VerdictOf(kRsqrt, 0, 0, 1e30f), RoundingVerdict::kBug);
  EXPECT_EQ(VerdictOf("  ROOT r = f32[2] power(x, y)", 0, -1, 3), RoundingVerdict::kBug);
  // An infinity stays one.
  constexpr char kMaximum[] = "  s = f32[2] rsqrt(x)\n  ROOT r = f32[2] maximum(s, y)";
  EXPECT_TRUE(IsLegal(kMaximum, 0, 2, kInf));
  EXPECT_EQ(VerdictOf(kMaximum, 0, 2, 2), RoundingVerdict::kBug);
  constexpr char kSum[] = "  s = f32[2] rsqrt(x)\n  e = f32[2] exponential(y)\n  ROOT r = f32[2] add(s, e)";
  EXPECT_TRUE(IsLegal(kSum, 0, 2, kInf));
  EXPECT_EQ(VerdictOf(kSum, 0, 2, 7.389056f), RoundingVerdict::kBeyondEstimate);
}

using Complex = std::complex<float>;

Literal C64(const std::vector<Complex>& values) {
  Literal literal = *Literal::Create(Shape::Array(ElementType::kC64, {static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), literal.mutable_span<Complex>().begin());
  return literal;
}

// Judges the first element of another result of an opcode on complex numbers.
bool IsLegalComplex(const std::string& opcode, Complex x, Complex y, Complex other) {
  const CheckedModule& module = Checked(
      "HloModule m\nENTRY e {\n  x = c64[2] parameter(0)\n  y = c64[2] parameter(1)\n"
      "  ROOT r = c64[2] " +
      opcode + "(x, y)\n}\n");
  const ShadowReport report = *RunShadow(module, {C64({x, 1}), C64({y, 1})}, {});
  Literal got = Declared(report.result);
  EXPECT_TRUE(got.MakeUnique().ok());
  got.mutable_span<Complex>()[0] = other;
  return !IsUnexplained(Judge(report, module.module(), got)[0]);
}

// Implementations give other infinite and NaN parts, but no numbers.
TEST(ShadowSpecials, ANumberIsNoResultOfAComplexPole) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(IsLegalComplex("divide", {1, 2}, 0, {kInf, kInf}));
  EXPECT_TRUE(IsLegalComplex("divide", {1, 2}, 0, {nan, nan}));
  EXPECT_FALSE(IsLegalComplex("divide", {1, 2}, 0, {5, 0}));
  EXPECT_FALSE(IsLegalComplex("divide", {1, 2}, 1, {kInf, 0}));
  EXPECT_TRUE(IsLegalComplex("multiply", {kInf, 2}, 1, {kInf, 2}));
  EXPECT_TRUE(IsLegalComplex("multiply", {kInf, 2}, 1, {kInf, nan}));
  EXPECT_FALSE(IsLegalComplex("multiply", {kInf, 2}, 1, {3, 2}));
}

TEST(ShadowSpecials, AnOverflowExplainsComplexInfinities) {
  EXPECT_TRUE(IsLegalComplex("multiply", {1e30f, 2}, 1e30f, {kInf, 2e30f}));
  EXPECT_TRUE(IsLegalComplex("multiply", {1e30f, 2}, 1e30f, {kInf, 2.0000002e30f}));
  EXPECT_FALSE(IsLegalComplex("multiply", {1e30f, 2}, 1e30f, {5, 2e30f}));
  EXPECT_FALSE(IsLegalComplex("multiply", {1e10f, 2}, 1e10f, {kInf, 2e10f}));
}

// The denominator may be another number than 0, so any quotient is legal.
TEST(ShadowSpecials, AnUncertainPoleExplainsAnyResult) {
  constexpr char kDifference[] =
      "  e = f32[2] exponential(x)\n  d = f32[2] subtract(e, y)\n"
      "  ROOT r = f32[2] divide(x, d)";
  const float e = 2.7182817f;
  EXPECT_TRUE(IsLegal(kDifference, 1, e, kInf));
  EXPECT_TRUE(IsLegal(kDifference, 1, e, 4194304));
}

TEST(ShadowSpecials, AnOverflowExplainsOnlyInfinitiesAndValuesNearby) {
  constexpr char kExponential[] = "  ROOT r = f32[2] exponential(x)";
  // exp(88.72284) is beyond the largest number by two units in the last place.
  EXPECT_TRUE(IsLegal(kExponential, 88.72284f, 0, kInf));
  EXPECT_TRUE(IsLegal(kExponential, 88.72284f, 0, kLargest));
  EXPECT_FALSE(IsLegal(kExponential, 88.72284f, 0, 3e38f));
  EXPECT_FALSE(IsLegal(kExponential, 88.72284f, 0, -kInf));
  // exp(88.7228) is below it by a few units.
  EXPECT_TRUE(IsLegal(kExponential, 88.7228f, 0, 3.4026951e38f));
  EXPECT_FALSE(IsLegal(kExponential, 88.7f, 0, kInf));
  EXPECT_TRUE(IsLegal(kExponential, 100, 0, kInf));
  EXPECT_FALSE(IsLegal(kExponential, 100, 0, kLargest));
  EXPECT_FALSE(IsLegal(kExponential, 100, 0, 7));
}

// An evaluation with more precise intermediate results does not overflow.
TEST(ShadowSpecials, AnOverflowOfAnIntermediateResultExplainsBothResults) {
  constexpr char kNorm[] = "  s = f32[2] multiply(x, x)\n  ROOT r = f32[2] sqrt(s)";
  EXPECT_TRUE(IsLegal(kNorm, 1e25f, 0, kInf));
  EXPECT_TRUE(IsLegal(kNorm, 1e25f, 0, 1e25f));
  EXPECT_FALSE(IsLegal(kNorm, 1e25f, 0, 2e25f));
}

TEST(ShadowSpecials, DoublesOverflowOnlyNearTheLargestNumber) {
  const CheckedModule& module =
      Checked("HloModule m\nENTRY e {\n  x = f64[3] parameter(0)\n  ROOT r = f64[3] exponential(x)\n}\n");
  Literal x = *Literal::Create(Shape::Array(ElementType::kF64, {3}));
  // The exponential overflows just below the second argument.
  const double values[] = {1, 709.7827128933841, 800};
  std::copy(std::begin(values), std::end(values), x.mutable_span<double>().begin());
  const ShadowReport report = *RunShadow(module, {x}, {});
  const auto is_legal = [&](int64_t i, double value) {
    Literal got = Declared(report.result);
    EXPECT_TRUE(got.MakeUnique().ok());
    got.mutable_span<double>()[i] = value;
    return !IsUnexplained(Judge(report, module.module(), got)[0]);
  };
  constexpr double kLargestDouble = std::numeric_limits<double>::max();
  EXPECT_TRUE(is_legal(1, kLargestDouble));
  EXPECT_TRUE(is_legal(1, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(is_legal(1, 1.5e308));
  EXPECT_TRUE(is_legal(2, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(is_legal(2, 7));
}

}  // namespace
}  // namespace hlo::debug
