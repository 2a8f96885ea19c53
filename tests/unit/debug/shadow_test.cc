// Tests shadow runs against exact arithmetic.

#include "debug/shadow/shadow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "debug/shadow/verdict.h"
#include "shadow_helpers.h"

namespace hlo::debug::shadow_test {
namespace {

using test::Checked;
using test::ErrorOf;
using test::F32;

Literal C64(const std::vector<std::complex<float>>& values) {
  Literal literal = *Literal::Create(Shape::Array(ElementType::kC64, {static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), literal.mutable_span<std::complex<float>>().begin());
  return literal;
}

constexpr char kCancel[] = R"(HloModule m
ENTRY e {
  a = f32[1] parameter(0)
  b = f32[1] parameter(1)
  s = f32[1] add(a, b)
  ROOT d = f32[1] subtract(s, a)
}
)";

// 1 + 2^-24 rounds to 1, so s is half an ULP of 1 too small; the difference is 0 instead of 2^-24, whose ULP
// is 2^-47.
TEST(Shadow, MeasuresInheritedAndAddedErrors) {
  const ShadowReport report = *RunShadow(Checked(kCancel), {F32({1}), F32({0x1p-24f})}, {});
  EXPECT_EQ(ErrorOf(report, "s").added, 0.5);
  EXPECT_EQ(ErrorOf(report, "s").inherited, 0);
  EXPECT_EQ(ErrorOf(report, "d").added, 0);
  EXPECT_EQ(ErrorOf(report, "d").inherited, 0x1p23);
  EXPECT_EQ(report.result.wide.span<double>()[0], 0x1p-24);
}

// The condition number of 1.00000006 - 1 is (|s| + |a|) / |d|: about 2^25.
TEST(Shadow, ReportsCancellation) {
  const ShadowReport report = *RunShadow(Checked(kCancel), {F32({1}), F32({0x1p-24f})}, {});
  const std::vector<const InstructionError*> conditions = WorstConditions(report, 10);
  ASSERT_EQ(conditions.size(), 1u);
  EXPECT_EQ(conditions[0]->instruction->name(), "d");
  EXPECT_GT(conditions[0]->condition, 0x1p23);
}

// A comparison whose operands rounding brings together.
TEST(Shadow, ReportsADecisionThatDiffersInTheWiderType) {
  const CheckedModule module = Checked(R"(HloModule m
ENTRY e {
  a = f32[1] parameter(0)
  b = f32[1] parameter(1)
  s = f32[1] add(a, b)
  g = pred[1] compare(s, a), direction=GT
  ROOT r = f32[1] select(g, b, a)
}
)");
  const ShadowReport report = *RunShadow(module, {F32({1}), F32({0x1p-24f})}, {});
  ASSERT_EQ(report.decisions.size(), 1u);
  EXPECT_EQ(report.decisions[0].instruction->name(), "g");
  EXPECT_EQ(report.decisions[0].declared, "false");
  // Control flow follows the declared type.
  EXPECT_EQ(report.result.wide.span<double>()[0], 1);
  // The other value is legal as well.
  EXPECT_EQ(Judge(report, module.module(), F32({0x1p-24f}))[0].verdict, RoundingVerdict::kExplained);
}

constexpr char kSum[] = R"(HloModule m
add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT s = f32[] add(x, y) }
ENTRY e {
  a = f32[1000] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[] reduce(a, z), dimensions={0}, to_apply=add
}
)";

Literal Scalar(float value) {
  Literal literal = *Literal::Create(Shape::Scalar(ElementType::kF32));
  literal.mutable_span<float>()[0] = value;
  return literal;
}

// Adding in f32 from the left, from the right and by halves are legal; the exact sum is known in f64.
TEST(Shadow, TheBoundOfASumCoversItsOrders) {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(0.1f + 0.37f * static_cast<float>(i % 17));
  const CheckedModule module = Checked(kSum);
  const ShadowReport report = *RunShadow(module, {F32(values)}, {});
  float left = 0, right = 0, halves[2] = {0, 0};
  double exact = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    left += values[i];
    right += values[values.size() - 1 - i];
    halves[i % 2] += values[i];
    exact += static_cast<double>(values[i]);
  }
  EXPECT_DOUBLE_EQ(report.result.wide.span<double>()[0], exact);
  for (const float sum : {left, right, halves[0] + halves[1]})
    EXPECT_EQ(Judge(report, module.module(), Scalar(sum))[0].verdict, RoundingVerdict::kExplained) << sum;
  // Without one element it is another sum.
  EXPECT_EQ(Judge(report, module.module(), Scalar(left - values[16]))[0].verdict, RoundingVerdict::kBug);
}

// Products have no bound of their own; their rounding errors grow with the number of factors.
TEST(Shadow, TheEstimateOfOtherReducersCoversItsOrders) {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(1 + 0.001f * static_cast<float>(i % 17 - 8));
  const CheckedModule module = Checked(R"(HloModule m
f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] multiply(a, b) }
ENTRY e {
  a = f32[1000] parameter(0)
  one = f32[] constant(1)
  ROOT p = f32[] reduce(a, one), dimensions={0}, to_apply=f
}
)");
  const ShadowReport report = *RunShadow(module, {F32(values)}, {});
  float left = 1, right = 1, halves[2] = {1, 1};
  for (size_t i = 0; i < values.size(); ++i) {
    left *= values[i];
    right *= values[values.size() - 1 - i];
    halves[i % 2] *= values[i];
  }
  for (const float product : {left, right, halves[0] * halves[1]})
    EXPECT_EQ(Judge(report, module.module(), Scalar(product))[0].verdict, RoundingVerdict::kExplained)
        << product;
  const OutputVerdict wrong = Judge(report, module.module(), Scalar(left / values[16]))[0];
  EXPECT_EQ(wrong.verdict, RoundingVerdict::kBeyondEstimate);
  EXPECT_EQ(wrong.outside, 1);
  EXPECT_EQ(wrong.outside_proven, 0);
}

// Terms that cancel have the errors of their sum, which the estimate for batch-norm-grad includes.
TEST(Shadow, EstimatesOfCancellingSumsCoverTheirOrders) {
  constexpr int kCount = 1000;
  std::vector<float> gradients;
  float left = 0, right = 0, halves[2] = {0, 0};
  for (int i = 0; i < kCount; ++i)
    gradients.push_back(0.1f + 0.37f * static_cast<float>(i % 17) - (i == kCount - 1 ? 3053.9f : 0));
  for (size_t i = 0; i < gradients.size(); ++i) {
    left += gradients[i];
    right += gradients[gradients.size() - 1 - i];
    halves[i % 2] += gradients[i];
  }
  const CheckedModule module = Checked(R"(HloModule m
ENTRY e {
  dy = f32[1000] parameter(0)
  y = f32[1000,1] reshape(dy)
  zero = f32[] constant(0)
  x = f32[1000,1] broadcast(zero), dimensions={}
  one = f32[1] constant({1})
  mean = f32[1] constant({0})
  b = (f32[1000,1], f32[1], f32[1]) batch-norm-grad(x, one, mean, one, y), epsilon=0.001, feature_index=1
  ROOT g = f32[1] get-tuple-element(b), index=2
}
)");
  const ShadowReport report = *RunShadow(module, {F32(gradients)}, {});
  for (const float sum : {left, right, halves[0] + halves[1]})
    EXPECT_TRUE(!IsUnexplained(Judge(report, module.module(), F32({sum}))[0])) << sum;
  EXPECT_TRUE(IsUnexplained(Judge(report, module.module(), F32({left + 0.1f}))[0]));
}

// s is 1/128 in f32 and 0.01 exactly, so 1 / s has no bound. The factor is its root.
TEST(Shadow, EstimatesFromUnboundedOperandsCoverTheDeclaredValue) {
  const CheckedModule& module = Checked(R"(HloModule m
ENTRY e {
  a = f32[1,1] parameter(0)
  b = f32[1,1] parameter(1)
  t = f32[1,1] add(a, b)
  s = f32[1,1] subtract(t, a)
  one = f32[1,1] constant({{1}})
  d = f32[1,1] divide(one, s)
  c = f32[1,1] cholesky(d), lower=true
  ROOT r = f32[1] reshape(c)
}
)");
  const Shape matrix = Shape::Array(ElementType::kF32, {1, 1});
  const ShadowReport report =
      *RunShadow(module, {F32({100000}).WithShape(matrix), F32({0.01f}).WithShape(matrix)}, {});
  const double declared = report.result.declared.span<float>()[0],
               wide = report.result.wide.span<double>()[0];
  EXPECT_NEAR(declared, std::sqrt(128), 1e-5);
  EXPECT_NEAR(wide, 10, 1e-5);
  EXPECT_GE(report.result.bound.span<double>()[0], declared - wide);
}

// The sum is 1 in f32 and 0.9995 exactly, so it may be the first of the keys instead of the last.
TEST(Shadow, SortedKeysMayPassSeveralOthers) {
  const CheckedModule& module = Checked(R"(HloModule m
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT l = pred[] compare(a, b), direction=LT
}
ENTRY e {
  a = f32[1] parameter(0)
  b = f32[1] parameter(1)
  others = f32[2] parameter(2)
  t = f32[1] add(a, b)
  s = f32[1] subtract(t, a)
  keys = f32[3] concatenate(others, s), dimensions={0}
  numbers = s32[3] iota(), iota_dimension=0
  ROOT r = (f32[3], s32[3]) sort(keys, numbers), dimensions={0}, to_apply=less
}
)");
  const ShadowReport report =
      *RunShadow(module, {F32({100000}), F32({0.9995f}), F32({0.9998f, 0.99985f})}, {});
  const auto judge = [&](std::vector<float> keys, std::vector<int32_t> numbers) {
    Literal places = *Literal::Create(Shape::Array(ElementType::kS32, {3}));
    std::copy(numbers.begin(), numbers.end(), places.mutable_span<int32_t>().begin());
    const std::vector<OutputVerdict> verdicts =
        Judge(report, module.module(), Literal::Tuple({F32(keys), places}));
    return !IsUnexplained(verdicts[0]) && !IsUnexplained(verdicts[1]);
  };
  EXPECT_TRUE(judge({0.9998f, 0.99985f, 1}, {0, 1, 2}));
  EXPECT_TRUE(judge({0.9995f, 0.9998f, 0.99985f}, {2, 0, 1}));
  EXPECT_FALSE(judge({0.5f, 0.9998f, 0.99985f}, {2, 0, 1}));
}

// The sum is 1 in f32 and 1.0005 exactly, so it may be the largest element.
TEST(Shadow, TheLargestElementsMayBeOthers) {
  const CheckedModule& module = Checked(R"(HloModule m
ENTRY e {
  a = f32[1] parameter(0)
  b = f32[1] parameter(1)
  others = f32[2] parameter(2)
  t = f32[1] add(a, b)
  s = f32[1] subtract(t, a)
  keys = f32[3] concatenate(others, s), dimensions={0}
  ROOT r = (f32[1], s32[1]) topk(keys), k=1, largest=true
}
)");
  const ShadowReport report = *RunShadow(module, {F32({100000}), F32({1.0005f}), F32({0.5f, 1.0002f})}, {});
  const auto judge = [&](float value, int32_t index) {
    Literal places = *Literal::Create(Shape::Array(ElementType::kS32, {1}));
    places.mutable_span<int32_t>()[0] = index;
    const std::vector<OutputVerdict> verdicts =
        Judge(report, module.module(), Literal::Tuple({F32({value}), places}));
    return !IsUnexplained(verdicts[0]) && !IsUnexplained(verdicts[1]);
  };
  EXPECT_TRUE(judge(1.0002f, 1));
  EXPECT_TRUE(judge(1.0005f, 2));
  EXPECT_FALSE(judge(0.5f, 0));
}

// Bounds can be estimates that the declared value exceeds; another result must be far from both.
TEST(Shadow, TheDeclaredValueIsLegal) {
  ShadowValue value = *ExactShadow(Scalar(1));
  value.wide = *Literal::Create(Shape::Scalar(ElementType::kF64));
  value.wide.mutable_span<double>()[0] = 1 + 0x1p-10;
  value.bound = *Literal::Create(Shape::Scalar(ElementType::kF64));
  value.bound.mutable_span<double>()[0] = 0x1p-20;
  EXPECT_EQ(JudgeArray(value, Scalar(1)).outside, 0);
  EXPECT_EQ(JudgeArray(value, Scalar(1 + 0x1p-21f)).outside, 0);
  EXPECT_EQ(JudgeArray(value, Scalar(1 + 0x1p-10f)).outside, 0);
  EXPECT_EQ(JudgeArray(value, Scalar(1 + 0x1p-11f)).outside, 1);
}

// The first element is the declared value, though its error exceeds the bound by more.
TEST(Shadow, ShowsAnElementBeyondItsBound) {
  ShadowValue value = *ExactShadow(F32({1, 1}));
  const Shape wide = Shape::Array(ElementType::kF64, {2});
  value.wide = *Literal::Create(wide);
  value.bound = *Literal::Create(wide);
  for (int i = 0; i < 2; ++i) {
    value.wide.mutable_span<double>()[i] = 1 + (i == 0 ? 0x1p-10 : 0x1p-12);
    value.bound.mutable_span<double>()[i] = 0x1p-20;
  }
  const OutputVerdict verdict = JudgeArray(value, F32({1, 1 + 0x1p-11f}));
  EXPECT_EQ(verdict.outside, 1);
  EXPECT_EQ(verdict.index, std::vector<int64_t>{1});
}

// n u sum |x| with n = 1001 terms, half an ULP for each, and one for the result.
TEST(Shadow, TheBoundOfASumIsTheKnownOne) {
  const std::vector<float> ones(1000, 1.0f);
  const ShadowReport report = *RunShadow(Checked(kSum), {F32(ones)}, {});
  const double expected = 1001 * 0x1p-24 * 1000 + 0x1p-23 * 1000;
  EXPECT_NEAR(report.result.bound.span<double>()[0], expected, 1e-9);
}

// The terms of a sum of exact operands cancel: |1| + |-1| + |2^-20| divided by 2^-20.
TEST(Shadow, ReportsCancellationInASum) {
  std::vector<float> values(1000, 0.0f);
  values[0] = 1, values[1] = -1, values[2] = 0x1p-20f;
  const ShadowReport report = *RunShadow(Checked(kSum), {F32(values)}, {});
  const std::vector<const InstructionError*> conditions = WorstConditions(report, 10);
  ASSERT_EQ(conditions.size(), 1u);
  EXPECT_NEAR(conditions[0]->condition, 0x1p21 + 1, 1e-6);
}

// 1 + 2^-53 rounds to 1 in f64; the double-double keeps it, and the difference is its error.
TEST(Shadow, MeasuresF64InDoubleDouble) {
  Literal one = *Literal::Create(Shape::Array(ElementType::kF64, {1})), small = one;
  ASSERT_TRUE(small.MakeUnique().ok());
  one.mutable_span<double>()[0] = 1;
  small.mutable_span<double>()[0] = 0x1p-53;
  const ShadowReport report = *RunShadow(Checked(R"(HloModule m
ENTRY e {
  a = f64[1] parameter(0)
  b = f64[1] parameter(1)
  s = f64[1] add(a, b)
  ROOT d = f64[1] subtract(s, a)
}
)"),
                                         {one, small}, {});
  EXPECT_EQ(ErrorOf(report, "s").added, 0.5);
  EXPECT_EQ(report.result.wide.span<double>()[0], 0x1p-53);
  EXPECT_EQ(ErrorOf(report, "d").inherited, 0x1p52);
}

// sum of i * 0.1 in f64 against rational arithmetic: 0.1 is 3602879701896397 / 2^55, so the sum over i < 1000
// is 499500 times that, which is 49950.000000000002772782...
TEST(Shadow, SumsF64InDoubleDouble) {
  Literal values = *Literal::Create(Shape::Array(ElementType::kF64, {1000})),
          factor = *Literal::Create(Shape::Array(ElementType::kF64, {1000}));
  for (int i = 0; i < 1000; ++i) {
    values.mutable_span<double>()[i] = i;
    factor.mutable_span<double>()[i] = 0.1;
  }
  const ShadowReport report = *RunShadow(Checked(R"(HloModule m
ENTRY e {
  a = f64[1000] parameter(0)
  b = f64[1000] parameter(1)
  ROOT d = f64[] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}
}
)"),
                                         {values, factor}, {});
  const double high = report.result.wide.span<double>()[0], low = report.result.low.span<double>()[0];
  const __int128 exact = static_cast<__int128>(3602879701896397) * 499500;  // In units of 2^-55.
  const auto high_units = static_cast<__int128>(std::ldexp(high, 55));
  EXPECT_EQ(static_cast<double>(exact - high_units), std::ldexp(low, 55));
}

// The bins of these transforms are real: an imaginary part that is not zero would turn the angle by 2 pi.
TEST(Shadow, QuarterTurnsOfTransformsAreExact) {
  const ShadowReport report = *RunShadow(Checked(R"(HloModule m
ENTRY e {
  x = f64[2] constant({-5, -2})
  c = c128[2] fft(x), fft_type=RFFT, fft_length={2}
  y = c128[4] constant({(1, 0), (0, 2), (-1, 0), (0, -2)})
  d = c128[4] fft(y), fft_type=FFT, fft_length={4}
  ci = f64[2] imag(c)
  di = f64[4] imag(d)
  ROOT i = f64[6] concatenate(ci, di), dimensions={0}
}
)"),
                                         {}, {});
  for (const double imag : report.result.wide.span<double>()) EXPECT_EQ(imag, 0);
  EXPECT_EQ(ErrorOf(report, "ci").inherited, 0);
  EXPECT_EQ(ErrorOf(report, "di").inherited, 0);
}

// x = 1 + e, with e below half an ULP of 1. Each result minus the same instruction on ones is a multiple of
// e, which only double-doubles keep.
TEST(Shadow, AppliesComputationsToDoubleDoubles) {
  constexpr double kSmall = 0x1p-60;
  const std::string text = R"(HloModule m
sum { a = f64[] parameter(0) b = f64[] parameter(1) ROOT r = f64[] add(a, b) }
product { a = f64[] parameter(0) b = f64[] parameter(1) ROOT r = f64[] multiply(a, b) }
larger { a = f64[] parameter(0) b = f64[] parameter(1) ROOT r = pred[] compare(a, b), direction=GE }
last {
  a = f64[] parameter(0) i = s32[] parameter(1) b = f64[] parameter(2) j = s32[] parameter(3)
  c = pred[] compare(a, b), direction=GT v = f64[] select(c, a, b) k = s32[] select(c, i, j)
  ROOT r = (f64[], s32[]) tuple(v, k)
}
same { a = f64[] parameter(0) ROOT r = f64[] negate(a) }
step {
  s = (s32[], f64[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0 a = f64[4] get-tuple-element(s), index=1
  e = f64[] constant(8.6736173798840355e-19) one = f64[] constant(1) x = f64[] add(one, e) u = f64[1] reshape(x)
  w = f64[4] dynamic-update-slice(a, u, i) k = s32[] constant(1) n = s32[] add(i, k)
  ROOT r = (s32[], f64[4]) tuple(n, w)
}
more { s = (s32[], f64[4]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(4)
  ROOT r = pred[] compare(i, n), direction=LT }
ENTRY e {
  one = f64[1,4,4,1] parameter(0)
  small = f64[1,4,4,1] parameter(1)
  x = f64[1,4,4,1] add(one, small)
  zero = f64[] constant(0)
  unit = f64[] constant(1)
  k = f64[2,2,1,1] constant({{{{1}},{{1}}},{{{1}},{{1}}}})
  c0 = f64[1,3,3,1] convolution(one, k), window={size=2x2}, dim_labels=b01f_01io->b01f
  c1 = f64[1,3,3,1] convolution(x, k), window={size=2x2}, dim_labels=b01f_01io->b01f
  c = f64[1,3,3,1] subtract(c1, c0)
  w0 = f64[1,2,2,1] reduce-window(one, zero), window={size=1x2x2x1 stride=1x2x2x1}, to_apply=sum
  w1 = f64[1,2,2,1] reduce-window(x, zero), window={size=1x2x2x1 stride=1x2x2x1}, to_apply=sum
  w = f64[1,2,2,1] subtract(w1, w0)
  p1 = f64[1,4,1] reduce(x, unit), dimensions={2}, to_apply=product
  p0 = f64[1,4,1] reduce(one, unit), dimensions={2}, to_apply=product
  p = f64[1,4,1] subtract(p1, p0)
  s = f64[1,2,2,1] slice(x), slice={[0:1],[0:2],[0:2],[0:1]}
  t1 = f64[1,4,4,1] select-and-scatter(one, s, zero), window={size=1x2x2x1 stride=1x2x2x1}, select=larger, scatter=sum
  t0 = f64[1,4,4,1] select-and-scatter(one, w0, zero), window={size=1x2x2x1 stride=1x2x2x1}, select=larger, scatter=sum
  quarter = f64[] constant(0.25)
  quarters = f64[1,4,4,1] broadcast(quarter), dimensions={}
  t2 = f64[1,4,4,1] multiply(t0, quarters)
  t = f64[1,4,4,1] subtract(t1, t2)
  xf = f64[16] reshape(x)
  row = f64[4] slice(xf), slice={[0:4]}
  of = f64[16] reshape(one)
  at = s32[4] constant({0, 0, 1, 9})
  base = f64[2] constant({0, 0})
  orow = f64[4] slice(of), slice={[0:4]}
  h1 = f64[2] scatter(base, at, row), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
  h0 = f64[2] scatter(base, at, orow), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
  h = f64[2] subtract(h1, h0)
  n = s32[16] iota(), iota_dimension=0
  no = s32[] constant(0)
  a1 = (f64[], s32[]) reduce(xf, n, zero, no), dimensions={0}, to_apply=last
  a2 = f64[] get-tuple-element(a1), index=0
  a = f64[] subtract(a2, unit)
  m1 = f64[16] map(xf), dimensions={0}, to_apply=same
  m = f64[16] add(m1, of)
  start = (s32[], f64[4]) tuple(no, orow)
  loop = (s32[], f64[4]) while(start), condition=more, body=step
  l1 = f64[4] get-tuple-element(loop), index=1
  l = f64[4] subtract(l1, orow)
  two = f64[] constant(2)
  f1 = f64[16] clamp(zero, xf, two)
  f = f64[16] subtract(f1, of)
  ROOT r = (f64[1,3,3,1], f64[1,2,2,1], f64[1,4,1], f64[1,4,4,1], f64[2], f64[], f64[16], f64[4], f64[16]) tuple(c, w, p, t, h, a, m, l, f)
}
)";
  const Shape shape = Shape::Array(ElementType::kF64, {1, 4, 4, 1});
  Literal one = *Literal::Create(shape), small = *Literal::Create(shape);
  for (double& value : one.mutable_span<double>()) value = 1;
  for (double& value : small.mutable_span<double>()) value = kSmall;
  const ShadowReport report = *RunShadow(Checked(text), {one, small}, {});
  // The multiple of e in each element; the product has the square of e in its rounding.
  const auto expect = [&](size_t output, const std::vector<double>& multiples) {
    const ShadowValue& value = report.result.elements[output];
    for (size_t i = 0; i < multiples.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      EXPECT_NEAR(value.wide.span<double>()[at], multiples[i] * kSmall, 0x1p-100) << output << ": " << i;
      EXPECT_EQ(value.declared.span<double>()[at], 0) << output << ": " << i;
    }
  };
  expect(0, std::vector<double>(9, 4));
  expect(1, std::vector<double>(4, 4));
  expect(2, std::vector<double>(4, 4));
  expect(3, {1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0});
  expect(4, {2, 1});
  expect(5, {1});
  expect(6, std::vector<double>(16, -1));
  expect(7, std::vector<double>(4, 1));
  expect(8, std::vector<double>(16, 1));
}

// x - 1 is 0 in f32 and 2^-30 exactly, so the conversion of a sum to an index is uncertain.
constexpr char kUncertainIndex[] = R"(HloModule m
ENTRY e {
  table = f32[4] parameter(0)
  x = f32[1] parameter(1)
  small = f32[1] parameter(2)
  s = f32[1] add(x, small)
  i = s32[1] convert(s)
  g = f32[1] gather(table, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
  ROOT d = f32[1] add(g, g)
}
)";

TEST(Shadow, AnUncertainIndexSelectsAnyElement) {
  const CheckedModule& module = Checked(kUncertainIndex);
  const ShadowReport report = *RunShadow(module, {F32({-3, 5, 1, 2}), F32({1}), F32({-0x1p-30f})}, {});
  // The declared index is 1. The others give -3 to 5.
  EXPECT_EQ(report.result.wide.span<double>()[0], 10);
  EXPECT_GE(report.result.bound.span<double>()[0], 16);
  EXPECT_LE(report.result.bound.span<double>()[0], 16.1);
  ASSERT_EQ(report.decisions.size(), 2u);
  EXPECT_EQ(report.decisions[0].instruction->name(), "i") << "the wide index is 0";
  EXPECT_EQ(report.decisions[1].instruction->name(), "g");
  EXPECT_TRUE(report.decisions[1].is_index);
  EXPECT_NE(ToString(report).find("%g gather moves elements by %i = 1, which"), std::string::npos);
  const auto judge = [&](float value) { return Judge(report, module.module(), F32({value}))[0].verdict; };
  EXPECT_EQ(judge(-6), RoundingVerdict::kExplained);
  EXPECT_EQ(judge(27), RoundingVerdict::kBug) << "no index gives it";
}

// Only the token that comes from the uncertain index may differ, and only what it selects has a wide bound.
TEST(Shadow, UncertainIntegersMoveAlone) {
  const CheckedModule& module = Checked(R"(HloModule m
ENTRY e {
  table = f32[4,1] parameter(0)
  x = f32[1] parameter(1)
  small = f32[1] parameter(2)
  s = f32[1] add(x, small)
  i = s32[1] convert(s)
  given = s32[3] constant({3, 2, 3})
  at = s32[] constant(1)
  tokens = s32[3] dynamic-update-slice(given, i, at)
  one = s32[] constant(1)
  ones = s32[3] broadcast(one), dimensions={}
  next = s32[3] subtract(tokens, ones)
  column = s32[3,1] reshape(tokens)
  rows = f32[3,1] gather(table, column), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,1}
  sum = f32[3,1] add(rows, rows)
  ROOT t = (s32[3], s32[3], f32[3,1]) tuple(tokens, next, sum)
}
)");
  Literal table = *Literal::Create(Shape::Array(ElementType::kF32, {4, 1}));
  const float values[] = {-3, 5, 1, 2};
  std::copy(std::begin(values), std::end(values), table.mutable_span<float>().begin());
  const ShadowReport report = *RunShadow(module, {table, F32({1}), F32({-0x1p-30f})}, {});
  for (const size_t output : {0, 1}) {
    const absl::Span<const double> bound = report.result.elements[output].bound.span<double>();
    EXPECT_EQ(bound[0], 0);
    EXPECT_NE(bound[1], 0);
    EXPECT_EQ(bound[2], 0);
  }
  const absl::Span<const double> bound = report.result.elements[2].bound.span<double>();
  EXPECT_LT(bound[0], 1e-5);
  EXPECT_GE(bound[1], 16);
  EXPECT_LE(bound[1], 16.1);
  EXPECT_LT(bound[2], 1e-5);
}

// An element of c64 is off by half a ULP of its real part, 2^-24; its modulus is 1.
TEST(Shadow, MeasuresComplexNumbersByTheirModulus) {
  const ShadowReport report = *RunShadow(Checked(R"(HloModule m
ENTRY e {
  a = c64[1] parameter(0)
  b = c64[1] parameter(1)
  s = c64[1] add(a, b)
  ROOT n = c64[1] negate(s)
}
)"),
                                         {C64({1}), C64({0x1p-24f})}, {});
  EXPECT_NEAR(ErrorOf(report, "s").added, 0.5, 1e-6);
  EXPECT_EQ(ErrorOf(report, "s").inherited, 0);
  EXPECT_NEAR(ErrorOf(report, "n").inherited, 0.5, 1e-6);
  EXPECT_EQ(ErrorOf(report, "n").added, 0);
}

// d is 2^-30 instead of 0. The error of two numbers is relative to the larger one. If no digit is certain, it
// is relative to the root mean square of the array: sqrt(1/2) for {1, 0}, whose ULP is 2^-24.
TEST(Shadow, ErrorsOfValuesNearZeroAreRelativeToTheArray) {
  const ShadowReport report = *RunShadow(Checked(R"(HloModule m
ENTRY e {
  a = f32[2] parameter(0)
  b = f32[2] parameter(1)
  c = f32[2] parameter(2)
  s = f32[2] add(a, b)
  d = f32[2] subtract(s, c)
  ROOT p = f32[2] multiply(d, d)
}
)"),
                                         {F32({2, 1}), F32({0, 0x1p-30f}), F32({1, 1})}, {});
  const InstructionError &difference = ErrorOf(report, "d"), &square = ErrorOf(report, "p");
  EXPECT_DOUBLE_EQ(difference.total, 0x1p-30 / 0x1p-24);
  EXPECT_DOUBLE_EQ(difference.inherited, 0x1p-30 / 0x1p-24);
  EXPECT_GT(difference.bound_there, 1);
  EXPECT_DOUBLE_EQ(square.total, 0x1p-60 / 0x1p-24);
}

// A subnormal number that another evaluation flushes to 0.
TEST(Shadow, SubnormalNumbersAreWithinOneUnitOfZero) {
  const CheckedModule& module = Checked(R"(HloModule m
ENTRY e {
  a = f32[1] parameter(0)
  b = f32[1] parameter(1)
  ROOT p = f32[1] multiply(a, b)
}
)");
  const ShadowReport report = *RunShadow(module, {F32({0x1p-70f}), F32({0x1p-60f})}, {});
  const OutputVerdict verdict = Judge(report, module.module(), F32({0}))[0];
  EXPECT_EQ(verdict.verdict, RoundingVerdict::kExplained);
  EXPECT_EQ(verdict.error_ulp, 0x1p-130 / 0x1p-126);
}

// Both outputs are off by a percent; only the first depends on the cancellation.
TEST(Shadow, ReportsOnlyCausesThatAnOutputDependsOn) {
  const CheckedModule module = Checked(R"(HloModule m
ENTRY e {
  a = f32[1] parameter(0)
  b = f32[1] parameter(1)
  s = f32[1] add(a, b)
  d = f32[1] subtract(s, a)
  p = f32[1] multiply(a, b)
  ROOT t = (f32[1], f32[1]) tuple(d, p)
}
)");
  const ShadowReport report = *RunShadow(module, {F32({100000}), F32({0.5})}, {});
  const std::vector<OutputVerdict> verdicts =
      Judge(report, module.module(), Literal::Tuple({F32({0.505}), F32({50500})}));
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].verdict, RoundingVerdict::kIllConditioned);
  EXPECT_EQ(verdicts[0].cause->instruction->name(), "d");
  EXPECT_EQ(verdicts[1].verdict, RoundingVerdict::kBug);
}

// A loop of three steps x = x * 1.1f, against long double.
TEST(Shadow, FollowsLoops) {
  const ShadowReport report = *RunShadow(Checked(R"(HloModule m
body {
  s = (s32[], f32[1]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  k = f32[1] constant({1.1})
  y = f32[1] multiply(x, k)
  ROOT t = (s32[], f32[1]) tuple(j, y)
}
cond {
  s = (s32[], f32[1]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[1] parameter(0)
  z = s32[] constant(0)
  t = (s32[], f32[1]) tuple(z, x)
  w = (s32[], f32[1]) while(t), condition=cond, body=body
  ROOT r = f32[1] get-tuple-element(w), index=1
}
)"),
                                         {F32({3})}, {});
  const long double k = 1.1f;
  EXPECT_DOUBLE_EQ(report.result.wide.span<double>()[0], static_cast<double>(3 * k * k * k));
  EXPECT_EQ(ErrorOf(report, "y").executions, 3);
  EXPECT_GT(report.result.bound.span<double>()[0], 0);
  EXPECT_LT(report.result.bound.span<double>()[0], 10 * 0x1p-23 * 4);
}

// Each iteration stores half of x in the next element; the loop also ends with the array before its last
// update.
TEST(Shadow, UpdatesArraysInLoops) {
  const ShadowReport report = *RunShadow(Checked(R"(HloModule m
body {
  s = (s32[], f32[1], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1] get-tuple-element(s), index=1
  a = f32[4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  third = f32[1] constant({0.333333343})
  y = f32[1] multiply(x, third)
  b = f32[4] dynamic-update-slice(a, y, i)
  ROOT t = (s32[], f32[1], f32[4], f32[4]) tuple(j, y, b, a)
}
cond {
  s = (s32[], f32[1], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[1] parameter(0)
  zero = f32[] constant(0)
  zeros = f32[4] broadcast(zero), dimensions={}
  z = s32[] constant(0)
  t = (s32[], f32[1], f32[4], f32[4]) tuple(z, x, zeros, zeros)
  w = (s32[], f32[1], f32[4], f32[4]) while(t), condition=cond, body=body
  now = f32[4] get-tuple-element(w), index=2
  before = f32[4] get-tuple-element(w), index=3
  ROOT r = (f32[4], f32[4]) tuple(now, before)
}
)"),
                                         {F32({1})}, {});
  const double k = 0.333333343f;
  const ShadowValue &now = report.result.elements[0], &before = report.result.elements[1];
  const double expected[] = {k, k * k, k * k * k, 0};
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(now.wide.span<double>()[i], expected[i]) << i;
    EXPECT_DOUBLE_EQ(before.wide.span<double>()[i], i == 2 ? 0 : expected[i]) << i;
    EXPECT_NEAR(now.declared.span<float>()[i], expected[i], 1e-7) << i;
    EXPECT_EQ(now.bound.span<double>()[i] > 0, expected[i] > 0) << i;
  }
  EXPECT_EQ(before.declared.span<float>()[2], 0);
  EXPECT_EQ(before.bound.span<double>()[2], 0);
  ASSERT_EQ(now.trials.size(), kTrialCount);
  for (const Literal& trial : now.trials) EXPECT_NEAR(trial.span<double>()[2], expected[2], 1e-5);
  EXPECT_EQ(ErrorOf(report, "b").executions, 3);
}

// (1 + 2^-24) + 0i replaces the second of three complex numbers.
TEST(Shadow, UpdatesComplexArrays) {
  const ShadowReport report = *RunShadow(Checked(R"(HloModule m
ENTRY e {
  a = f32[1] parameter(0)
  b = f32[1] parameter(1)
  s = f32[1] add(a, b)
  zero = f32[1] constant({0})
  c = c64[1] complex(s, zero)
  z = c64[3] constant({(5, 0), (6, 0), (7, 0)})
  one = s32[] constant(1)
  ROOT u = c64[3] dynamic-update-slice(z, c, one)
}
)"),
                                         {F32({1}), F32({0x1p-24f})}, {});
  const auto wide = report.result.wide.span<std::complex<double>>();
  EXPECT_EQ(wide[0], 5.0);
  EXPECT_EQ(wide[1], 1 + 0x1p-24);
  EXPECT_EQ(wide[2], 7.0);
  EXPECT_EQ(report.result.bound.span<double>()[0], 0);
  EXPECT_GE(report.result.bound.span<double>()[1], 0x1p-24);
}

}  // namespace
}  // namespace hlo::debug::shadow_test
