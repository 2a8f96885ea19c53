#pragma once
// Observer's view of a plan step, represented by its last instruction.

#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "hlo_run/observer.h"
#include "plan/plan.h"
#include "plan/step_cost.h"

namespace hlo::exec {

class PlanStepView : public StepView {
 public:
  PlanStepView(const plan::Plan& plan, const plan::Step& step, std::string_view kernel, int64_t depth,
               absl::FunctionRef<std::vector<RunningLoop>()> loops)
      : plan_(plan), step_(step), kernel_(kernel), depth_(depth), loops_(loops) {}
  const Instruction& instruction() const override { return *step_.instruction; }
  std::string_view kernel() const override { return kernel_; }
  int64_t depth() const override { return depth_; }
  std::vector<RunningLoop> loops() const override { return loops_(); }
  Cost cost() const override { return plan::StepCost(plan_, step_); }
  absl::StatusOr<Literal> Operand(int64_t) const override { return Fused(); }
  absl::StatusOr<Literal> Result() const override { return Fused(); }

 private:
  static absl::Status Fused() {
    return absl::UnimplementedError("the fast engine does not keep the values of single instructions");
  }
  const plan::Plan& plan_;
  const plan::Step& step_;
  std::string_view kernel_;
  int64_t depth_;
  absl::FunctionRef<std::vector<RunningLoop>()> loops_;
};

}  // namespace hlo::exec
