// Tests that planning and validation take linear time: for nested loops, for loops with many identical
// initial states, for computations that are called often, and for values that are used twice in fused loops.

#include <chrono>

#include "as_reference.h"
#include "fmt/format.h"
#include "plan/make_plan.h"
#include "plan/plan.h"

namespace hlo::planning_time_test {
namespace {

// Far more than linear time takes and far less than quadratic time would. Sanitizers slow the code down many
// times.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kMaxSeconds = 100;
#else
constexpr double kMaxSeconds = 10;
#endif

void ExpectQuickPlan(const std::string& text, plan::Target target = plan::Target::kCpu) {
  const CheckedModule module = Load(text);
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<plan::Plan> plan = plan::MakePlan(module, nullptr, target);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(plan.ok()) << plan.status();
  EXPECT_LT(elapsed.count(), kMaxSeconds);
}

std::string State(int64_t arrays) {
  std::string state = "(s32[]";
  for (int64_t k = 0; k < arrays; ++k) state += ", f32[8]";
  return state + ")";
}

std::string Condition(int64_t number, const std::string& state) {
  return fmt::format(R"(cond{0} {{
  p = {1} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(1)
  ROOT lt = pred[] compare(i, n), direction=LT
}}
)",
                     number, state);
}

TEST(PlanningTime, OfLoopsInLoops) {
  constexpr int64_t kDepth = 24;
  const std::string state = "(s32[], s32[], f32[8])";
  std::string text = "HloModule m\n";
  for (int64_t k = kDepth; k > 0; --k) {
    text += Condition(k, state);
    text += fmt::format(R"(body{0} {{
  p = {1} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  s = s32[] get-tuple-element(p), index=1
  x = f32[8] get-tuple-element(p), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
)",
                        k, state);
    if (k == kDepth) {
      text += "  y = f32[8] add(x, x)\n  t = s32[] add(s, one)\n";
    } else {
      text += fmt::format(R"(  z = s32[] constant(0)
  init = {0} tuple(z, z, x)
  w = {0} while(init), condition=cond{1}, body=body{1}
  y = f32[8] get-tuple-element(w), index=2
  t = s32[] get-tuple-element(w), index=1
)",
                          state, k + 1);
    }
    text += fmt::format("  ROOT r = {} tuple(j, t, y)\n}}\n", state);
  }
  text += fmt::format(R"(ENTRY main {{
  x = f32[8] parameter(0)
  z = s32[] constant(0)
  init = {0} tuple(z, z, x)
  ROOT w = {0} while(init), condition=cond1, body=body1
}}
)",
                      state);
  ExpectQuickPlan(text);
}

TEST(PlanningTime, OfManyStatesWithEqualInitialValues) {
  constexpr int64_t kStates = 600;
  const std::string state = State(kStates);
  std::string text = "HloModule m\n" + Condition(0, state);
  text += fmt::format("body {{\n  p = {} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n", state);
  std::string next, initial;
  for (int64_t k = 0; k < kStates; ++k) {
    text += fmt::format("  x{0} = f32[8] get-tuple-element(p), index={1}\n  y{0} = f32[8] sine(x{0})\n", k,
                        k + 1);
    next += fmt::format(", y{}", (k + 1) % kStates);
    initial += ", x";
  }
  text += fmt::format("  one = s32[] constant(1)\n  j = s32[] add(i, one)\n  ROOT r = {} tuple(j{})\n}}\n",
                      state, next);
  text += fmt::format(R"(ENTRY e {{
  z = s32[] constant(0)
  x = f32[8] parameter(0)
  t = {0} tuple(z{1})
  w = {0} while(t), condition=cond0, body=body
  ROOT r = f32[8] get-tuple-element(w), index=1
}}
)",
                      state, initial);
  ExpectQuickPlan(text);
}

TEST(PlanningTime, OfCallsOfOneComputation) {
  constexpr int64_t kCalls = 800;
  const std::string state = State(1);
  std::string text = "HloModule m\n" + Condition(0, state);
  text += fmt::format(R"(body {{
  p = {0} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[8] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[8] sine(x)
  ROOT r = {0} tuple(j, y)
}}
ENTRY e {{
  x0 = f32[8] parameter(0)
  z = s32[] constant(0)
)",
                      state);
  for (int64_t k = 0; k < kCalls; ++k) {
    text += fmt::format(R"(  t{1} = {0} tuple(z, x{1})
  w{1} = {0} while(t{1}), condition=cond0, body=body
  x{2} = f32[8] get-tuple-element(w{1}), index=1
)",
                        state, k, k + 1);
  }
  text += fmt::format("  ROOT r = f32[8] negate(x{})\n}}\n", kCalls);
  ExpectQuickPlan(text);
}

// Expanded into a tree, the squares would be 2^60 operations.
TEST(PlanningTime, OfRepeatedSquaresInOneLoop) {
  constexpr int64_t kSquares = 60;
  std::string squares =
      "  x0 = f32[1000] parameter(0)\n  zero = f32[] constant(0)\n  two = s32[] constant(2)\n";
  for (int64_t k = 0; k < kSquares; ++k)
    squares += fmt::format("  x{0} = f32[1000] multiply(x{1}, x{1})\n", k + 1, k);
  for (const std::string_view root :
       {"f32[1010] pad(x60, zero), padding=5_5", "f32[1999] pad(x60, zero), padding=0_0_1",
        "f32[2000] concatenate(x60, x0), dimensions={0}", "f32[1000] dynamic-update-slice(x0, x60, two)",
        "f32[1000] reverse(x60), dimensions={0}", "f32[10,100] reshape(x60)",
        "f32[500] slice(x60), slice={[0:500]}", "f32[] reduce(x60, zero), dimensions={0}, to_apply=sum",
        "f32[] dot(x60, x0), lhs_contracting_dims={0}, rhs_contracting_dims={0}"}) {
    SCOPED_TRACE(root);
    const std::string text = fmt::format(R"(HloModule m
sum {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}}
ENTRY e {{
{}  ROOT r = {}
}}
)",
                                         squares, root);
    ExpectQuickPlan(text);
    ExpectQuickPlan(text, plan::Target::kGpu);
  }
}

}  // namespace
}  // namespace hlo::planning_time_test
