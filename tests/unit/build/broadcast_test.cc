// Tests implicit broadcasting: the examples and errors of the broadcasting semantics, and the table of
// shape-rules 2.1.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo_run/builder.h"
#include "hlo_run/parse.h"
#include "hlo_run/run.h"

namespace hlo::build::broadcast_test {
namespace {

using testing::HasSubstr;

Literal Value(std::string_view text) {
  return ParseLiteral(SourceText("value", std::string(text)), Shape()).value();
}

// Evaluates x + y.
std::string Sum(std::string_view x, std::string_view y, Dims broadcast_dimensions = {}) {
  const Literal a = Value(x), c = Value(y);
  Builder b("sum");
  const Op sum = Add(b.Parameter(0, a.shape()), b.Parameter(1, c.shape()), broadcast_dimensions);
  const absl::StatusOr<CheckedModule> module = b.Build(sum);
  if (!module.ok()) return std::string(module.status().message());
  const absl::StatusOr<Literal> result = Evaluate(*module, {a, c});
  return result.ok() ? ToString(result->shape()) + " " + ToString(*result) : result.status().ToString();
}

// Returns the shape of x + y, or the error message.
std::string ShapeOfSum(std::string_view x, std::string_view y, Dims broadcast_dimensions = {}) {
  Builder b("shape");
  const Op left = b.Parameter(0, x, "x"), right = b.Parameter(1, y, "y");
  const Op sum = Add(left, right, broadcast_dimensions);
  return sum.ok() ? ToString(sum.shape()) : std::string(b.status().message());
}

TEST(BroadcastValuesTest, ScalarGoesToEveryElement) {
  EXPECT_EQ(Sum("s32[2,3] {{1,2,3},{4,5,6}}", "s32[] 7"), "s32[2,3] { { 8, 9, 10 }, { 11, 12, 13 } }");
  EXPECT_EQ(Sum("s32[] 7", "s32[2,3] {{1,2,3},{4,5,6}}"), "s32[2,3] { { 8, 9, 10 }, { 11, 12, 13 } }");
}

TEST(BroadcastValuesTest, VectorIsRepeatedAlongTheRows) {
  EXPECT_EQ(Sum("s32[2,3] {{1,2,3},{4,5,6}}", "s32[3] {7,8,9}", {1}),
            "s32[2,3] { { 8, 10, 12 }, { 11, 13, 15 } }");
}

TEST(BroadcastValuesTest, VectorMatchesRowsOrColumnsOfASquareMatrix) {
  const std::string_view zeros = "s32[3,3] {{0,0,0},{0,0,0},{0,0,0}}", v = "s32[3] {7,8,9}";
  EXPECT_EQ(Sum(zeros, v, {1}), "s32[3,3] { { 7, 8, 9 }, { 7, 8, 9 }, { 7, 8, 9 } }");
  EXPECT_EQ(Sum(zeros, v, {0}), "s32[3,3] { { 7, 7, 7 }, { 8, 8, 8 }, { 9, 9, 9 } }");
}

TEST(BroadcastValuesTest, OuterOperationOfTwoDegenerateDimensions) {
  EXPECT_EQ(Sum("s32[2,1] {{10},{20}}", "s32[1,3] {{1,2,3}}"), "s32[2,3] { { 11, 12, 13 }, { 21, 22, 23 } }");
}

TEST(BroadcastValuesTest, RankAndDegenerateDimensionTogether) {
  EXPECT_EQ(Sum("s32[4] {1,2,3,4}", "s32[1,2] {{5,6}}", {0}),
            "s32[4,2] { { 6, 7 }, { 7, 8 }, { 8, 9 }, { 9, 10 } }");
  EXPECT_EQ(Sum("s32[1,2] {{10,20}}", "s32[2,3,1] {{{1},{2},{3}},{{4},{5},{6}}}", {1, 2}),
            "s32[2,3,2] { { { 11, 21 }, { 12, 22 }, { 13, 23 } }, { { 14, 24 }, { 15, 25 }, { 16, 26 } } }");
}

TEST(BroadcastValuesTest, ComparisonsBroadcastToo) {
  Builder b("compare");
  const Op x = b.Constant("s32[2,2] {{1,2},{3,4}}"), y = b.Constant("s32[2] {2,3}");
  const absl::StatusOr<CheckedModule> module = b.Build(Ge(x, y, {1}));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(ToString(*Evaluate(*module, {})), "{ { 0, 0 }, { 1, 1 } }");
}

TEST(BroadcastShapeTest, ExamplesOfTheSemantics) {
  EXPECT_EQ(ShapeOfSum("f32[2,1]", "f32[2,3]"), "f32[2,3]");
  EXPECT_EQ(ShapeOfSum("f32[1,2,5]", "f32[7,2,5]"), "f32[7,2,5]");
  EXPECT_EQ(ShapeOfSum("f32[7,2,5]", "f32[7,1,5]"), "f32[7,2,5]");
  EXPECT_EQ(ShapeOfSum("f32[2,1]", "f32[1,3]"), "f32[2,3]");
  EXPECT_EQ(ShapeOfSum("f32[3,4]", "f32[2,3,4]", {1, 2}), "f32[2,3,4]");
  EXPECT_EQ(ShapeOfSum("f32[1,2]", "f32[4,3,1]", {1, 2}), "f32[4,3,2]");
  EXPECT_EQ(ShapeOfSum("f32[4]", "f32[1,2]", {0}), "f32[4,2]");
}

TEST(BroadcastShapeTest, VectorAndMatrixMatchAnyDimensionsOfARank4Array) {
  for (int64_t d = 0; d < 4; ++d) {
    const std::vector<std::string_view> vectors = {"f32[2]", "f32[3]", "f32[4]", "f32[5]"};
    EXPECT_EQ(ShapeOfSum("f32[2,3,4,5]", vectors[d], {d}), "f32[2,3,4,5]");
  }
  EXPECT_EQ(ShapeOfSum("f32[4,5]", "f32[2,3,4,5]", {2, 3}), "f32[2,3,4,5]");
  EXPECT_EQ(ShapeOfSum("f32[3,4]", "f32[2,3,4,5]", {1, 2}), "f32[2,3,4,5]");
  EXPECT_EQ(ShapeOfSum("f32[2,5]", "f32[2,3,4,5]", {0, 3}), "f32[2,3,4,5]");
}

TEST(BroadcastShapeTest, DynamicSizesAreKept) {
  EXPECT_EQ(ShapeOfSum("f32[<=4]", "f32[4]"), "f32[<=4]");
  EXPECT_EQ(ShapeOfSum("f32[<=4,1]", "f32[1,3]"), "f32[<=4,3]");
  EXPECT_EQ(ShapeOfSum("f32[<=4,3]", "f32[3]", {1}), "f32[<=4,3]");
  EXPECT_EQ(ShapeOfSum("f32[]", "f32[<=4]"), "f32[<=4]");
  EXPECT_THAT(ShapeOfSum("f32[<=1]", "f32[2,3]", {1}), HasSubstr("dimension 0 is dynamic on one side only"));
}

TEST(BroadcastShapeTest, ATypeOfOneOperandWins) {
  EXPECT_EQ(ShapeOfSum("bf16[2]", "f32[2]"), "f32[2]");
  EXPECT_THAT(ShapeOfSum("s32[2]", "f32[2]"),
              HasSubstr("arrays of one element type, but they are s32[2] and f32[2]"));
}

TEST(BroadcastShapeTest, InvalidShapesAreRejected) {
  EXPECT_THAT(ShapeOfSum("f32[7,2,5]", "f32[7,2,6]"), HasSubstr("dimension 2 has sizes 5 and 6"));
  EXPECT_THAT(ShapeOfSum("f32[3]", "f32[2,3]"),
              HasSubstr("the ranks differ, and broadcast_dimensions is empty"));
  EXPECT_THAT(ShapeOfSum("f32[3]", "f32[2,3]", {0}),
              HasSubstr("dimension 0 has size 3, dimension 0 has size 2"));
  EXPECT_THAT(ShapeOfSum("f32[3]", "f32[2,3]", {0, 1}), HasSubstr("an entry for each dimension"));
  EXPECT_THAT(ShapeOfSum("f32[3]", "f32[2,3]", {2}), HasSubstr("there is no dimension 2"));
  EXPECT_THAT(ShapeOfSum("f32[3]", "f32[2,3]", {-1}), HasSubstr("there is no dimension -1"));
  EXPECT_THAT(ShapeOfSum("f32[2,3]", "f32[2,3]", {1, 0}),
              HasSubstr("no broadcast_dimensions but all in order"));
  EXPECT_THAT(ShapeOfSum("f32[2,4]", "f32[3,4,2]", {2, 1}), HasSubstr("must ascend"));
  EXPECT_THAT(ShapeOfSum("f32[2,2]", "f32[3,2,4]", {1, 1}), HasSubstr("must ascend"));
  EXPECT_THAT(ShapeOfSum("token[]", "f32[2]"), HasSubstr("add takes arrays, but 'x' is token[]"));
}

TEST(BroadcastShapeTest, TernaryOperationsBroadcastScalarsAlone) {
  Builder b("clamp");
  const Op x = b.Parameter(0, "f32[2,3]"), row = b.Parameter(1, "f32[1,3]"), low = b.Parameter(2, "f32[]");
  EXPECT_EQ(ToString(Clamp(low, x, low).shape()), "f32[2,3]");
  EXPECT_FALSE(Clamp(low, x, row).ok());
  EXPECT_THAT(std::string(b.status().message()), HasSubstr("clamp"));
}

TEST(BroadcastInDimTest, RejectsInvalidShapes) {
  const auto refusal = [](std::string_view shape, Dims out, Dims dims) {
    Builder b("in_dim");
    EXPECT_FALSE(BroadcastInDim(b.Parameter(0, shape), out, dims).ok());
    return std::string(b.status().message());
  };
  EXPECT_THAT(refusal("f32[3]", {2, 3}, {0}), HasSubstr("dimension 0 has size 3, dimension 0 has size 2"));
  EXPECT_THAT(refusal("f32[3]", {2, 3}, {2}), HasSubstr("there is no dimension 2"));
  EXPECT_THAT(refusal("f32[2,2]", {2, 2}, {1, 0}), HasSubstr("must ascend"));
  EXPECT_THAT(refusal("f32[2,3]", {2, 3}, {1}), HasSubstr("an entry for each dimension"));
  EXPECT_THAT(refusal("f32[3]", {-2, 3}, {1}), HasSubstr("-2 is negative"));
}

}  // namespace
}  // namespace hlo::build::broadcast_test
