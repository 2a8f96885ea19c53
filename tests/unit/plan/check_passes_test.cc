// Tests that --check-passes names the pass that breaks a module.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hlo_run/parse.h"
#include "plan/passes.h"
#include "plan/validate/pass_checker.h"

namespace hlo::plan::check_passes_test {
namespace {

CheckedModule Module(const std::string& entry) {
  Diagnostics diagnostics;
  std::shared_ptr<hlo::Module> module =
      Parse(std::make_shared<SourceText>("t.hlo", "HloModule t\nENTRY e {\n" + entry + "}\n"), diagnostics);
  return *Check(std::move(module), diagnostics);
}

absl::Status RunChecked(const std::vector<Pass>& passes, const CheckedModule& module) {
  const PlanOptions options = {.check_passes = true};
  PlanState state{module, nullptr, Target::kCpu, options, {}};
  return RunPasses(passes, state);
}

// Exchanges the operands of every subtraction.
absl::Status BreakSubtract(PlanState& state) {
  for (Node& node : state.plan.graph.nodes) {
    if (node.instruction->opcode() == Opcode::kSubtract) std::swap(node.operands[0], node.operands[1]);
  }
  return absl::OkStatus();
}
// A part of flatten that breaks modules when it is enabled.
absl::Status FlattenWithBrokenPart(PlanState& state) {
  const absl::Status status = Passes()[0].run(state);
  return status.ok() && state.passes.Contains(PassId::kDegenerateContractions) ? BreakSubtract(state)
                                                                               : status;
}

const char* const kSubtract =
    "  x = f32[3,4] parameter(0)\n  y = f32[3,4] parameter(1)\n  ROOT r = f32[3,4] subtract(x, y)\n";

std::vector<Pass> AllPasses() { return {Passes().begin(), Passes().end()}; }

TEST(CheckPassesTest, CorrectPassesAreAccepted) {
  const absl::Status status = RunChecked(AllPasses(), Module(kSubtract));
  EXPECT_TRUE(status.ok()) << status;
}

TEST(CheckPassesTest, NamesThePassThatBreaksAResult) {
  std::vector<Pass> passes = AllPasses();
  const auto at = std::find_if(passes.begin(), passes.end(),
                               [](const Pass& pass) { return pass.id == PassId::kRangeAnalysis; });
  passes.insert(
      at, {.id = PassId::kSinkSlices, .name = "broken", .stage = Pass::Stage::kGraph, .run = &BreakSubtract});
  const absl::Status status = RunChecked(passes, Module(kSubtract));
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(status.message().find("the pass 'broken' changes the meaning of the module; result 0"),
            std::string::npos)
      << status;
  // A wrong value is not an error if no result depends on it.
  EXPECT_TRUE(
      RunChecked(passes, Module("  x = f32[3] parameter(0)\n  ROOT r = f32[3] subtract(x, x)\n")).ok());
}

TEST(CheckPassesTest, NamesTheBrokenPartOfAPass) {
  std::vector<Pass> passes = AllPasses();
  passes[0].run = &FlattenWithBrokenPart;
  const absl::Status status = RunChecked(passes, Module(kSubtract));
  EXPECT_NE(status.message().find("the pass 'degenerate_contractions' changes"), std::string::npos) << status;
}

TEST(CheckPassesTest, LoopsBranchesAndMapsAreEvaluated) {
  Diagnostics diagnostics;
  std::shared_ptr<hlo::Module> module = Parse(std::make_shared<SourceText>("t.hlo", R"(HloModule t
f { a = f32[] parameter(0) b = f32[] constant(2) ROOT m = f32[] multiply(a, b) }
body { s = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0 one = s32[] constant(1)
  n = s32[] add(i, one) v = f32[4] get-tuple-element(s), index=1 w = f32[4] map(v), dimensions={0}, to_apply=f
  ROOT t = (s32[], f32[4]) tuple(n, w) }
cond { s = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0 three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT }
yes { a = f32[4] parameter(0) ROOT n = f32[4] negate(a) }
no { a = f32[4] parameter(0) ROOT n = f32[4] subtract(a, a) }
ENTRY e { x = f32[4] parameter(0) z = s32[] constant(0) s = (s32[], f32[4]) tuple(z, x)
  w = (s32[], f32[4]) while(s), condition=cond, body=body v = f32[4] get-tuple-element(w), index=1
  p = pred[] parameter(1) ROOT r = f32[4] conditional(p, v, v), true_computation=yes, false_computation=no }
)"),
                                              diagnostics);
  ASSERT_NE(module, nullptr);
  const absl::Status status = RunChecked(AllPasses(), *Check(std::move(module), diagnostics));
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace hlo::plan::check_passes_test
