#pragma once
// Observer's view of a plan step, represented by its last instruction.

#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "hlo_run/observer.h"
#include "plan/plan.h"
#include "plan/step_cost.h"

namespace hlo::exec {

// Returns a literal that views the memory of a slot.
using ReadSlot = absl::FunctionRef<Literal(plan::Slot slot, const Shape& shape)>;

class PlanStepView : public StepView {
 public:
  // `read` is nullptr if the memory of the slots cannot be read.
  PlanStepView(const plan::Plan& plan, const plan::Step& step, std::string_view kernel, int64_t depth,
               absl::FunctionRef<std::vector<RunningLoop>()> loops, const ReadSlot* read = nullptr,
               int64_t device = 0)
      : plan_(plan),
        step_(step),
        kernel_(kernel),
        depth_(depth),
        loops_(loops),
        read_(read),
        device_(device) {}
  const Instruction& instruction() const override { return *step_.instruction; }
  std::string_view kernel() const override { return kernel_; }
  bool only_moves() const override;
  int64_t device() const override { return device_; }
  int64_t depth() const override { return depth_; }
  std::vector<RunningLoop> loops() const override { return loops_(); }
  Cost cost() const override { return plan::StepCost(plan_, step_); }
  absl::StatusOr<Literal> Operand(int64_t i) const override;
  absl::StatusOr<Literal> Result() const override;
  std::vector<StepValue> Reads() const override { return Values(/*written=*/false); }
  std::vector<StepValue> Writes() const override { return Values(/*written=*/true); }

 private:
  std::vector<StepValue> Values(bool written) const;
  // Returns a copy of a value that the step holds in memory, or that is constant.
  absl::StatusOr<Literal> CopyOf(plan::ValueId value) const;
  absl::StatusOr<Literal> Assemble(const Shape& shape, const std::vector<plan::ValueId>& leaves,
                                   size_t* leaf) const;

  const plan::Plan& plan_;
  const plan::Step& step_;
  std::string_view kernel_;
  int64_t depth_;
  absl::FunctionRef<std::vector<RunningLoop>()> loops_;
  const ReadSlot* read_;
  int64_t device_;
};

}  // namespace hlo::exec
