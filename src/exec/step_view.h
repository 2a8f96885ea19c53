#pragma once
// Observer's view of a plan step, represented by its last instruction.

#include <optional>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "hlo_run/observer.h"
#include "plan/plan.h"
#include "plan/step_cost.h"

namespace hlo::exec {

// Returns a literal that views the memory of a slot.
using ReadSlot = absl::FunctionRef<Literal(plan::Slot slot, const Shape& shape)>;

// The properties of a step that are the same in all of its executions.
struct StepProperties {
  struct FloatArray {
    plan::Slot slot;
    ElementType type;
    int64_t element_count;
  };
  std::string_view kernel;
  bool only_moves = false;
  std::optional<std::vector<FloatArray>> written_floats;  // Nullopt if some are not in buffers.
};
StepProperties PropertiesOf(const plan::Plan& plan, const plan::Step& step);

// Returns the loops without the inner ones of those that compute one instruction, such as a custom call.
std::vector<RunningLoop> ShownLoops(std::vector<RunningLoop> loops);

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
  // `pointers` are those of the slots.
  PlanStepView(const plan::Plan& plan, const plan::Step& step, const StepProperties& properties,
               void* const* pointers, int64_t depth, absl::FunctionRef<std::vector<RunningLoop>()> loops,
               const ReadSlot* read, int64_t device)
      : PlanStepView(plan, step, properties.kernel, depth, loops, read, device) {
    properties_ = &properties;
    pointers_ = pointers;
  }
  const Instruction& instruction() const override { return step_.shown(); }
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
  bool VisitWrittenFloats(VisitElements visit) const override;

 private:
  std::vector<StepValue> Values(bool written) const;
  Literal Read(plan::Slot slot, plan::ValueId value) const;
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
  const StepProperties* properties_ = nullptr;
  void* const* pointers_ = nullptr;
};

}  // namespace hlo::exec
