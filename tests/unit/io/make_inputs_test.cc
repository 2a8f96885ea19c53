// Tests generated arguments: reproducible on all platforms, and with indices in bounds.

#include "helpers.h"

namespace hlo::make_inputs_test {
namespace {

std::vector<Literal> Make(const std::string& program, InputFill fill, uint64_t seed = 1) {
  const std::shared_ptr<Module> module = ModuleOf(program);
  if (!module) return {};
  absl::StatusOr<std::vector<Literal>> arguments = MakeInputs(*module, fill, seed);
  EXPECT_TRUE(arguments.ok()) << arguments.status();
  return arguments.ok() ? *arguments : std::vector<Literal>();
}

std::string Entry(const std::string& type) {
  return "HloModule m\nENTRY e { ROOT a = " + type + " parameter(0) }";
}

TEST(GeneratedInputs, FloatsAreSpreadOverTheUnitInterval) {
  const Literal value = Make(Entry("f32[1000]"), InputFill::kUniform)[0];
  double sum = 0, least = 1, most = -1;
  for (const float x : value.span<float>()) {
    ASSERT_GE(x, -1);
    ASSERT_LT(x, 1);
    sum += x;
    least = std::min<double>(least, x);
    most = std::max<double>(most, x);
  }
  EXPECT_LT(std::abs(sum / 1000), 0.1);
  EXPECT_LT(least, -0.95);
  EXPECT_GT(most, 0.95);
}

TEST(GeneratedInputs, NormalHasTheMomentsOfAStandardNormal) {
  const Literal value = Make(Entry("f64[10000]"), InputFill::kNormal)[0];
  double sum = 0, squares = 0;
  for (const double x : value.span<double>()) sum += x, squares += x * x;
  EXPECT_LT(std::abs(sum / 10000), 0.05);
  EXPECT_NEAR(squares / 10000, 1, 0.05);
}

TEST(GeneratedInputs, DependOnTheSeedAlone) {
  const std::string a = ToString(Make(Entry("s32[20]"), InputFill::kUniform, 7)[0]);
  EXPECT_EQ(a, ToString(Make(Entry("s32[20]"), InputFill::kUniform, 7)[0]));
  EXPECT_NE(a, ToString(Make(Entry("s32[20]"), InputFill::kUniform, 8)[0]));
}

TEST(GeneratedInputs, PlainFillsSuitEveryType) {
  EXPECT_EQ(ToString(Make(Entry("s2[5]"), InputFill::kIota)[0]), "{0, 1, 0, 1, 0}");
  EXPECT_EQ(ToString(Make(Entry("pred[3]"), InputFill::kIota)[0]), "{0, 1, 0}");
  EXPECT_EQ(ToString(Make(Entry("f8e4m3fn[2,2]"), InputFill::kOnes)[0]), "{ { 1, 1 }, { 1, 1 } }");
  EXPECT_EQ(ToString(Make(Entry("c64[2]"), InputFill::kIota)[0]), "{(0, 0), (1, 0)}");
  EXPECT_EQ(ToString(Make(Entry("f8e8m0fnu[2]"), InputFill::kOnes)[0]), "{1, 1}");
  EXPECT_EQ(ToString(Make(Entry("u64[2]"), InputFill::kZeros)[0]), "{0, 0}");
}

// Indices that reach a gather from 5 rows through a conversion, a loop, a call and a fusion.
TEST(GeneratedInputs, IndicesAreInBounds) {
  constexpr char kProgram[] = R"(
HloModule m
fused {
  t = f32[5,4] parameter(0)
  i = s32[64,1] parameter(1)
  ROOT g = f32[64,4] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}
}
cond { p = (s32[], s64[64], f32[5,4]) parameter(0)
  ROOT r = pred[] constant(false) }
body {
  p = (s32[], s64[64], f32[5,4]) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  w = s64[64] get-tuple-element(p), index=1
  t = f32[5,4] get-tuple-element(p), index=2
  c = s32[64] convert(w)
  i = s32[64,1] reshape(c)
  f = f32[64,4] fusion(t, i), kind=kLoop, calls=fused
  z = s32[] constant(0)
  s = f32[1,4] dynamic-slice(t, n, z), dynamic_slice_sizes={1,4}
  ROOT r = (s32[], s64[64], f32[5,4]) tuple(n, w, t)
}
ENTRY e {
  n = s32[] parameter(0)
  w = s64[64] parameter(1)
  t = f32[5,4] parameter(2)
  free = s64[64] parameter(3)
  a = (s32[], s64[64], f32[5,4]) tuple(n, w, t)
  ROOT l = (s32[], s64[64], f32[5,4]) while(a), condition=cond, body=body
}
)";
  const std::vector<Literal> values = Make(kProgram, InputFill::kUniform);
  ASSERT_EQ(values.size(), 4u);
  EXPECT_GE(values[0].span<int32_t>()[0], 0);
  EXPECT_LE(values[0].span<int32_t>()[0], 4);
  bool has_largest = false, has_negative = false;
  for (const int64_t i : values[1].span<int64_t>()) {
    EXPECT_GE(i, 0);
    EXPECT_LE(i, 4);
    has_largest |= i == 4;
  }
  for (const int64_t i : values[3].span<int64_t>()) has_negative |= i < 0;
  EXPECT_TRUE(has_largest);
  EXPECT_TRUE(has_negative);
}

}  // namespace
}  // namespace hlo::make_inputs_test
