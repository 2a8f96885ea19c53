// Tests the builder's contract: errors keep their location, names are unique, and values agree with the
// worked examples of the operation semantics.

#include "hlo_run/builder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo_run/run.h"

namespace hlo::build::builder_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string ValueOf(Builder& b, Op root) {
  const absl::StatusOr<CheckedModule> module = b.Build(root);
  if (!module.ok()) return module.status().ToString();
  const absl::StatusOr<Literal> value = Evaluate(*module, {});
  return value.ok() ? ToString(*value) : value.status().ToString();
}

std::string BuildErrorOf(const std::function<Op(Builder&)>& program) {
  Builder b("mistake");
  const Op root = program(b);
  const absl::StatusOr<CheckedModule> module = b.Build(root);
  return module.ok() ? "it is valid" : std::string(module.status().message());
}

TEST(BuilderErrorTest, TheFirstErrorIsKeptWithItsLocation) {
  Builder b("m");
  const Op x = b.Parameter(0, "f32[2]"), y = b.Parameter(1, "f32[3]");
  const int line = __LINE__ + 1;
  const Op sum = Add(x, y);
  const Op later = Neg(Dot(sum, x));
  EXPECT_FALSE(later.ok());
  EXPECT_FALSE(later.shape().IsValid());
  const absl::StatusOr<CheckedModule> module = b.Build(later);
  ASSERT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(module.status().message()), StartsWith("builder_test.cc:" + std::to_string(line) +
                                                                 ": add cannot broadcast f32[2] and f32[3]"));
}

TEST(BuilderErrorTest, OperatorsHaveALocation) {
  Builder b("m");
  const Op x = b.Parameter(0, "f32[2]"), y = b.Parameter(1, "s32[2]");
  const int line = __LINE__ + 1;
  EXPECT_FALSE((x * y).ok());
  EXPECT_THAT(std::string(b.status().message()),
              StartsWith("builder_test.cc:" + std::to_string(line) + ": multiply"));
}

TEST(BuilderErrorTest, EveryKindHasAMessage) {
  EXPECT_THAT(BuildErrorOf([](Builder& b) { return b.Parameter(0, "f32[2"); }),
              HasSubstr("builder_test.cc:"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) { return b.Constant("f32[2] {1}"); }),
              HasSubstr("builder_test.cc:"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) { return b.Constant(ElementType::kU8, 256); }),
              HasSubstr("256 is not a value of u8"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) { return b.Constant(ElementType::kS4, 0.5); }),
              HasSubstr("0.5 is not a value of s4"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) {
                b.Parameter(0, "f32[]", "x");
                return b.Parameter(0, "f32[]");
              }),
              HasSubstr("there is a parameter 0 already, 'x'"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) { return b.Parameter(-1, "f32[]"); }),
              HasSubstr("parameter number -1"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) { return b.Parameter(1, "f32[]"); }),
              HasSubstr("parameter(0) is missing"));
  EXPECT_THAT(BuildErrorOf([](Builder&) { return Op(); }),
              HasSubstr("the root of the entry is not a value of it"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) { return Add(b.Parameter(0, "f32[]"), Op()); }),
              HasSubstr("an operand has no value"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) { return Not(b.Parameter(0, "f32[]")); }),
              HasSubstr("shape-rules 3.2"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) { return b.AfterAll({b.Parameter(0, "f32[]", "x")}); }),
              HasSubstr("after-all takes tokens, but 'x' is f32[]"));
  EXPECT_THAT(
      BuildErrorOf([](Builder& b) { return b.CustomCall("$x", {}, Shape::Scalar(ElementType::kF32)); }),
      HasSubstr("start with '$'"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) {
                return Collapse(b.Parameter(0, "f32[2,3,4]"), {0, 2});
              }),
              HasSubstr("consecutive dimensions, not {0,2}"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) {
                return Reshape(b.Parameter(0, "f32[<=4,6]"), {3, 8});
              }),
              HasSubstr("where dynamic dimension 0 goes"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) { return WithAccuracy(Abs(b.Parameter(0, "f32[]")), {}); }),
              HasSubstr("abs has no result accuracy"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) { return AllToAll(b.Parameter(0, "f32[6]"), 0, 0, 4); }),
              HasSubstr("cannot cut dimension 0 of f32[6] into 4 blocks"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) {
                return Broadcast(b.Parameter(0, "f32[1]"), std::vector<int64_t>(64, 1));
              }),
              HasSubstr("broadcast to 65 dimensions, which are more than 64"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) { return Slice(b.Parameter(0, "f32[6]"), {0}, {7}); }),
              HasSubstr("slice"));
  EXPECT_THAT(BuildErrorOf([](Builder& b) {
                return Conv(b.Parameter(0, "f32[1,1,4]"), b.Parameter(1, "f32[1,1,2]"), {0}, Padding::kSame);
              }),
              HasSubstr("positive, not 2 and 0"));
}

TEST(BuilderErrorTest, ValuesStayInTheirComputation) {
  EXPECT_THAT(BuildErrorOf([](Builder& b) {
                const Op x = b.Parameter(0, "f32[]", "x");
                const Function f =
                    b.Define("f", {x.shape()}, [&](const std::vector<Op>& p) { return p[0] + x; });
                return Call(f, x);
              }),
              HasSubstr("'x', belongs to computation 'main', not to 'f': pass it as a parameter"));
  Builder other("other");
  EXPECT_THAT(
      BuildErrorOf([&](Builder& b) { return Add(b.Parameter(0, "f32[]"), other.Parameter(0, "f32[]")); }),
      HasSubstr("operand 1 of add is of another builder"));
}

TEST(BuilderErrorTest, ABuilderBuildsOnce) {
  Builder b("m");
  const Op x = b.Parameter(0, "f32[]");
  EXPECT_TRUE(b.Build(x).ok());
  EXPECT_EQ(b.Build(x).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(NameTest, AreUniqueOverTheModule) {
  Builder b("m");
  const Op x = b.Parameter(0, "f32[]", "x"), y = b.Parameter(1, "f32[]", "x");
  EXPECT_EQ(x.instruction()->name(), "x");
  EXPECT_EQ(y.instruction()->name(), "x.1");
  EXPECT_EQ(b.SetName(x + y, "x.1").instruction()->name(), "x.1.1");
  EXPECT_EQ(b.SetName(x + y, "1 + 2").instruction()->name(), "_1___2");
  EXPECT_EQ(b.SetName(x * y, "s1").instruction()->name(), "s1_");
}

TEST(ValueTest, PaddingIsThatOfTheSemantics) {
  using P = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(*MakePadding({10}, {5}, {3}, Padding::kSame), (P{{2, 2}}));
  EXPECT_EQ(*MakePadding({4}, {2}, {1}, Padding::kSame), (P{{0, 1}}));
  EXPECT_EQ(*MakePadding({4}, {2}, {1}, Padding::kValid), (P{{0, 0}}));
  EXPECT_EQ(*MakePadding({5}, {3}, {2}, Padding::kSame), (P{{1, 1}}));
  EXPECT_EQ(*MakePadding({0}, {3}, {2}, Padding::kSame), (P{{0, 0}}));
  EXPECT_FALSE(MakePadding({5, 5}, {3}, {2}, Padding::kSame).ok());
}

TEST(ValueTest, MinimumOfAWindowWithSameAndValidPadding) {
  for (const auto& [padding, expected] :
       {std::pair(Padding::kValid, "{100, 1}"), std::pair(Padding::kSame, "{1000, 10, 1}")}) {
    Builder b("window");
    const Op x = b.Constant("f32[5] {10000,1000,100,10,1}"), most = b.Constant("f32[] inf");
    const Function min = b.Scalar(Opcode::kMinimum, ElementType::kF32);
    EXPECT_EQ(ValueOf(b, ReduceWindow(x, most, min, {3}, {2}, padding)), expected);
  }
}

TEST(ValueTest, CollapseJoinsNeighbours) {
  const auto collapsed = [](Dims dims) {
    Builder b("collapse");
    return ToString(Collapse(b.Parameter(0, "f32[4,2,3]"), dims).shape());
  };
  EXPECT_EQ(collapsed({0, 1, 2}), "f32[24]");
  EXPECT_EQ(collapsed({0, 1}), "f32[8,3]");
  EXPECT_EQ(collapsed({1, 2}), "f32[4,6]");
  EXPECT_EQ(collapsed({}), "f32[4,2,3]");
}

TEST(ValueTest, ReshapeInfersTheDynamicDimension) {
  const auto reshaped = [](std::string_view shape, Dims dims, int64_t inferred = -1) {
    Builder b("reshape");
    const Op x = b.Parameter(0, shape);
    const Op r = inferred < 0 ? Reshape(x, dims) : ReshapeWithInferredDimension(x, dims, inferred);
    return r.ok() ? ToString(r.shape()) : std::string(b.status().message());
  };
  EXPECT_EQ(reshaped("f32[<=6,4]", {24}), "f32[<=24]");
  EXPECT_EQ(reshaped("f32[<=6,4]", {6, 4}), "f32[<=6,4]");
  EXPECT_EQ(reshaped("f32[4,<=6]", {4, 6, 1}), "f32[4,<=6,1]");
  EXPECT_EQ(reshaped("f32[<=6,4]", {2, 3, 4}), "f32[<=2,3,4]");
  EXPECT_EQ(reshaped("f32[<=6,4]", {2, 3, 4}, 1), "f32[2,<=3,4]");
  EXPECT_EQ(reshaped("f32[<=1,4]", {1, 4}), "f32[<=1,4]");
  EXPECT_EQ(reshaped("f32[<=1,4]", {4}), "f32[<=4]");
}

TEST(ValueTest, SelectOnTuplesIsAConditional) {
  for (const auto& [pick, expected] :
       {std::pair("pred[] true", "( 1, {2, 3} )"), std::pair("pred[] false", "( 4, {5, 6} )")}) {
    Builder b("select");
    const Op x = b.Tuple({b.Constant("s32[] 1"), b.Constant("s32[2] {2,3}")});
    const Op y = b.Tuple({b.Constant("s32[] 4"), b.Constant("s32[2] {5,6}")});
    EXPECT_EQ(ValueOf(b, Select(b.Constant(pick), x, y)), expected);
  }
}

TEST(ValueTest, LoopsCountAndSortsKeepPairs) {
  Builder b("loop");
  const Shape s32 = Shape::Scalar(ElementType::kS32);
  const Function below =
      b.Define("below", {s32}, [](const std::vector<Op>& p) { return Lt(p[0], ScalarLike(p[0], 1000)); });
  const Function twice = b.Define("twice", {s32}, [](const std::vector<Op>& p) { return p[0] + p[0]; });
  const Op keys = b.Constant("f32[4] {3,1,nan,-1}"), values = b.Iota(ElementType::kS32, 4);
  const Function less = b.Comparator(ComparisonDirection::kLt, {ElementType::kF32, ElementType::kS32});
  const Op sorted = Sort({keys, values}, less, -1, true);
  EXPECT_EQ(ValueOf(b, b.Tuple({While(below, twice, b.Constant("s32[] 3")), GetTupleElement(sorted, 1)})),
            "( 1536, {3, 1, 0, 2} )");
}

}  // namespace
}  // namespace hlo::build::builder_test
