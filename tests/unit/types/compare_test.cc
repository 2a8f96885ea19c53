// Tests comparison of values. Adjacent numbers come from std::nextafter, rounding from exact fractions.

#include "hlo_run/compare.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "types/wide.h"

namespace hlo::compare_test {
namespace {

template <class W>
Literal Array(ElementType type, std::vector<W> values) {
  Literal literal = *Literal::Create(Shape::Array(type, {static_cast<int64_t>(values.size())}));
  for (size_t i = 0; i < values.size(); ++i)
    Storer<W>(type)(literal.mutable_data(), static_cast<int64_t>(i), values[i]);
  return literal;
}
Literal Floats(ElementType type, std::vector<double> values) {
  return Array<double>(type, std::move(values));
}

bool Agree(const Literal& got, const Literal& want, const CompareRule& rule) {
  return CompareArrays(got, want, rule).ok();
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Compare, ExactComparesSignsOfZerosAndNanEqualsNan) {
  for (const ElementType type :
       {ElementType::kF32, ElementType::kF64, ElementType::kBF16, ElementType::kF8E4M3FN}) {
    EXPECT_TRUE(Agree(Floats(type, {1, -0.0, kNan}), Floats(type, {1, -0.0, -kNan}), CompareRule::Exact()));
    EXPECT_FALSE(Agree(Floats(type, {0.0}), Floats(type, {-0.0}), CompareRule::Exact()));
    EXPECT_FALSE(Agree(Floats(type, {1}), Floats(type, {kNan}), CompareRule::Exact()));
  }
}

TEST(Compare, UlpsCountRepresentableValues) {
  const float one = 1, above = std::nextafter(one, 2.f), below = std::nextafter(one, 0.f);
  EXPECT_TRUE(
      Agree(Floats(ElementType::kF32, {above}), Floats(ElementType::kF32, {below}), CompareRule::Ulp(2)));
  EXPECT_FALSE(
      Agree(Floats(ElementType::kF32, {above}), Floats(ElementType::kF32, {below}), CompareRule::Ulp(1)));
  // The two smallest numbers around zero are two ULP apart; both zeros are one value.
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_TRUE(Agree(Floats(ElementType::kF64, {least, 0}), Floats(ElementType::kF64, {-least, -0.0}),
                    CompareRule::Ulp(2)));
  EXPECT_FALSE(
      Agree(Floats(ElementType::kF64, {least}), Floats(ElementType::kF64, {-least}), CompareRule::Ulp(1)));
  // f8e4m3fn has 1, 1.125, 1.25; f8e8m0fnu has 1, 2, 4; f4e2m1fn has -0.5, 0, 0.5.
  const auto distance = [](ElementType type, double a, double b) {
    return CompareArrays(Floats(type, {a}), Floats(type, {b}), CompareRule::Exact()).worst->ulps.value();
  };
  EXPECT_EQ(distance(ElementType::kF8E4M3FN, 1, 1.25), 2u);
  EXPECT_EQ(distance(ElementType::kF8E8M0FNU, 1, 4), 2u);
  EXPECT_EQ(distance(ElementType::kF4E2M1FN, -0.5, 0.5), 2u);
  constexpr double kMax = std::numeric_limits<double>::max();
  EXPECT_EQ(distance(ElementType::kF64, -kMax, kMax), 2 * 0x7fefffffffffffffu);
}

TEST(Compare, InfinitiesMustMatchUnderEveryRule) {
  const Literal largest = Floats(ElementType::kF32, {std::numeric_limits<float>::max()});
  const Literal infinite = Floats(ElementType::kF32, {kInf});
  EXPECT_FALSE(Agree(largest, infinite, CompareRule::Ulp(10)));
  EXPECT_FALSE(Agree(largest, infinite, CompareRule::Close(kInf, 0)));
  EXPECT_TRUE(Agree(infinite, infinite, CompareRule::Close(0, 0)));
}

TEST(Compare, CloseAddsBothTolerances) {
  const Literal want = Floats(ElementType::kF64, {100, 0});
  EXPECT_TRUE(Agree(Floats(ElementType::kF64, {101.5, 0.5}), want, CompareRule::Close(0.5, 0.01)));
  EXPECT_FALSE(Agree(Floats(ElementType::kF64, {101.75, 0.5}), want, CompareRule::Close(0.5, 0.01)));
  EXPECT_FALSE(Agree(Floats(ElementType::kF64, {100, 0.75}), want, CompareRule::Close(0.5, 0.01)));
}

TEST(Compare, ComplexNumbersAreComparedByModulusOrByPart) {
  using C = std::complex<double>;
  const Literal want = Array<C>(ElementType::kC128, {C(3, 4)});
  // The difference is 0.05 and |want| is 5.
  const Literal got = Array<C>(ElementType::kC128, {C(3.03, 4.04)});
  EXPECT_TRUE(Agree(got, want, CompareRule::Close(0, 0.0101)));
  EXPECT_FALSE(Agree(got, want, CompareRule::Close(0, 0.0099)));
  const Literal next = Array<C>(ElementType::kC128, {C(std::nextafter(3, 9), 4)});
  EXPECT_TRUE(Agree(next, want, CompareRule::Ulp(1)));
  EXPECT_FALSE(Agree(next, want, CompareRule::Exact()));
}

TEST(Compare, IntegersAreExactUnderEveryRule) {
  const Literal a = Array<int64_t>(ElementType::kS32, {1}), b = Array<int64_t>(ElementType::kS32, {2});
  EXPECT_FALSE(Agree(a, b, CompareRule::Ulp(5)));
  EXPECT_FALSE(Agree(a, b, CompareRule::Close(5, 5)));
}

TEST(Compare, ElementsBeyondRunTimeSizesAreIgnored) {
  Literal a = Floats(ElementType::kF32, {1, 2, 3}), b = Floats(ElementType::kF32, {1, 2, 4});
  a.set_dynamic_size(0, 2);
  EXPECT_EQ(CompareArrays(a, b, {}).problem, "has the run-time sizes [2], expected [3]");
  b.set_dynamic_size(0, 2);
  EXPECT_TRUE(Agree(a, b, {}));
}

TEST(Compare, ReportCountsMismatchesAndLocatesTheLargest) {
  Literal got = *Literal::Create(Shape::Array(ElementType::kF32, {2, 2}));
  Literal want = *Literal::Create(got.shape());
  for (int i = 0; i < 4; ++i) {
    got.mutable_span<float>()[i] = static_cast<float>(i);
    want.mutable_span<float>()[i] = static_cast<float>(i < 2 ? i : 4 * i);
  }
  CompareReport report = CompareArrays(got, want, CompareRule::Close(0, 0.125), /*max_mismatches=*/1);
  report.key = "1.0";
  EXPECT_EQ(ToString(report),
            "output 1.0: 2 of 4 elements differ (within abs 0 rel 0.125)\n"
            "  at {1,0}: got 2, want 8 (16777216 ulp apart, abs 6, rel 0.75)\n"
            "  worst at {1,0}: got 2, want 8 (16777216 ulp apart, abs 6, rel 0.75)\n");
  EXPECT_EQ(CompareArrays(got, Floats(ElementType::kF64, {1}), {}).problem, "is f32[2,2], expected f64[1]");
}

TEST(Compare, PrintedRulesAreReadBack) {
  for (const char* text : {"exact", "within 2ulp", "within abs 1e-06 rel 0.5"}) {
    const absl::StatusOr<CompareRule> rule = ParseCompareRule(text);
    ASSERT_TRUE(rule.ok()) << rule.status();
    EXPECT_EQ(ToString(*rule), text);
  }
  for (const char* text :
       {"", "within", "within ulp", "within -1ulp", "within abs nan rel 1", "within abs 1"}) {
    EXPECT_FALSE(ParseCompareRule(text).ok()) << text;
  }
}

}  // namespace
}  // namespace hlo::compare_test
