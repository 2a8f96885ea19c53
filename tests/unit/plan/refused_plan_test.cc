// Tests what becomes of a module whose plan the validator refuses.

#include <gtest/gtest.h>

#include "hlo_run/parse.h"
#include "plan/make_plan.h"

namespace hlo::plan::refused_plan_test {
namespace {

CheckedModule FusibleModule() {
  Diagnostics diagnostics;
  std::shared_ptr<hlo::Module> module =
      Parse(std::make_shared<SourceText>("t.hlo",
                                         "HloModule t\nENTRY e {\n  x = f32[3,4] parameter(0)\n"
                                         "  y = f32[3,4] negate(x)\n  ROOT r = f32[3,4] multiply(y, x)\n}\n"),
            diagnostics);
  return *Check(std::move(module), diagnostics);
}

absl::Status RefuseOptionalChanges(const Plan& plan) {
  return plan.change_count == 0 ? absl::OkStatus() : absl::InternalError("the plan is wrong: for this test");
}

absl::StatusOr<Plan> Make(bool replan, absl::Status (*validate)(const Plan&)) {
  return MakeValidatedPlan(FusibleModule(), nullptr, Target::kCpu, {.replan_if_refused = replan}, validate);
}

TEST(RefusedPlan, IsAnErrorUnlessReplanningIsAllowed) {
  EXPECT_EQ(Make(false, &RefuseOptionalChanges).status().code(), absl::StatusCode::kInternal);
}

TEST(RefusedPlan, IsReplacedByAPlanWithoutOptionalPasses) {
  const absl::StatusOr<Plan> plan = Make(true, &RefuseOptionalChanges);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->change_count, 0);
  EXPECT_EQ(plan->refusal, "the plan is wrong: for this test");
}

TEST(RefusedPlan, IsAnErrorIfTheSecondPlanIsRejectedToo) {
  const absl::StatusOr<Plan> plan =
      Make(true, [](const Plan&) { return absl::InternalError("the plan is wrong: always"); });
  EXPECT_EQ(plan.status().message(), "the plan is wrong: always");
}

TEST(AcceptedPlan, HasItsOptionalChanges) {
  const absl::StatusOr<Plan> plan = Make(true, [](const Plan&) { return absl::OkStatus(); });
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GT(plan->change_count, 0);
  EXPECT_EQ(plan->refusal, "");
}

}  // namespace
}  // namespace hlo::plan::refused_plan_test
