// Tests that bytecode computes small steps in loops itself, and that machine code can be made from it.

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "gtest/gtest.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"
#include "kernels/cpu/bytecode/native_code.h"
#include "plan/cpu/plan_bytecode.h"
#include "plan/make_plan.h"

namespace hlo::small_steps_test {
namespace {

struct Case {
  const char *name, *state, *body;  // The body computes y from x.
  friend void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }
};

constexpr char kFunctions[] = R"(HloModule m
least {
  p = f32[] parameter(0)
  i = s32[] parameter(1)
  q = f32[] parameter(2)
  j = s32[] parameter(3)
  less = pred[] compare(p, q), direction=LT
  odd = pred[] compare(p, p), direction=NE
  g = pred[] or(less, odd)
  v = f32[] select(g, p, q)
  same = pred[] compare(p, q), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(same, before)
  left = pred[] or(g, tie)
  k = s32[] select(left, i, j)
  ROOT r = (f32[], s32[]) tuple(v, k)
}
)";

// A plan and the module that it refers to.
struct Planned {
  CheckedModule module;
  plan::Plan plan;
};

Planned PlanOf(const std::string& text) {
  Diagnostics diagnostics;
  const auto source = std::make_shared<SourceText>("t.hlo", text);
  std::shared_ptr<Module> module = Parse(source, diagnostics);
  EXPECT_NE(module, nullptr) << Render(diagnostics, *source);
  absl::StatusOr<CheckedModule> checked = Check(std::move(module), diagnostics);
  EXPECT_TRUE(checked.ok()) << Render(diagnostics, *source);
  absl::StatusOr<plan::Plan> plan = plan::MakePlan(*checked);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return {*std::move(checked), *std::move(plan)};
}

class SmallSteps : public testing::TestWithParam<Case> {};

TEST_P(SmallSteps, DoNotLeaveTheBytecode) {
  const std::string state = "(s32[], " + std::string(GetParam().state) + ")";
  const std::string text = kFunctions + ("goes_on { p = " + state) + R"( parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(9)
  ROOT r = pred[] compare(i, n), direction=LT }
iteration { p = )" + state +
                           R"( parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = )" + GetParam().state +
                           R"( get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
)" + GetParam().body +
                           "\n  ROOT t = " + state + " tuple(j, y) }\nENTRY e { x = " + GetParam().state +
                           " parameter(0)\n  z = s32[] constant(0)\n  t = " + state +
                           " tuple(z, x)\n  ROOT w = " + state +
                           " while(t), condition=goes_on, body=iteration }\n";
  const auto [module, plan] = PlanOf(text);
  ASSERT_NE(plan.bytecode, nullptr);
  // Moves of whole states may leave it.
  for (const auto& escape : plan.bytecode->escapes) {
    const auto* step = std::get_if<const plan::Step*>(&escape);
    EXPECT_EQ(step, nullptr) << (*step)->instruction->name();
  }
  if (cpu::FindNativeIsa() == cpu::NativeIsa::kNone) GTEST_SKIP() << "the system allows no machine code";
  EXPECT_NE(cpu::NativeCode::Make(plan.bytecode->code, plan.bytecode->frame_use), nullptr);
}

// The last two states are stored as results.
TEST(SmallMoves, OfResultsDoNotLeaveTheBytecode) {
  const auto [module, plan] = PlanOf(R"(HloModule m
goes_on { s = (s32[], f32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT r = pred[] compare(i, n), direction=LT }
iteration { s = (s32[], f32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[] get-tuple-element(s), index=1
  b = f32[] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  c = f32[] add(a, b)
  ROOT t = (s32[], f32[], f32[]) tuple(j, b, c) }
ENTRY e { a = f32[] parameter(0)
  z = s32[] constant(0)
  t = (s32[], f32[], f32[]) tuple(z, a, a)
  ROOT w = (s32[], f32[], f32[]) while(t), condition=goes_on, body=iteration })");
  ASSERT_NE(plan.bytecode, nullptr);
  EXPECT_TRUE(plan.bytecode->escapes.empty());
}

INSTANTIATE_TEST_SUITE_P(All, SmallSteps,
                         testing::Values(Case{"argmin", "f32[24]", R"(
  places = s32[24] iota(), iota_dimension=0
  most = f32[] constant(inf)
  none = s32[] constant(-1)
  pair = (f32[], s32[]) reduce(x, places, most, none), dimensions={0}, to_apply=least
  value = f32[] get-tuple-element(pair), index=0
  place = s32[] get-tuple-element(pair), index=1
  number = f32[] convert(place)
  sum = f32[] add(value, number)
  sums = f32[24] broadcast(sum), dimensions={}
  y = f32[24] multiply(x, sums))"},
                                         Case{"repeated_rows", "f32[24,3]", R"(
  row = f32[1,3] slice(x), slice={[2:3], [0:3]}
  numbers = f32[3] reshape(row)
  wide = f32[24,3] broadcast(numbers), dimensions={1}
  y = f32[24,3] multiply(x, wide))"},
                                         Case{"columns", "f32[6,7]", R"(
  turned = f32[7,6] transpose(x), dimensions={1,0}
  square = f32[7,6] multiply(turned, turned)
  y = f32[6,7] reshape(square))"}),
                         [](const testing::TestParamInfo<Case>& test) { return test.param.name; });

}  // namespace
}  // namespace hlo::small_steps_test
