#pragma once
// Who wants to see each instruction as it runs? One hook for every engine: trace, NaN watch, profile and the
// like are observers, and nothing else.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo_run/cost.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

#pragma GCC visibility push(default)
namespace hlo {

// A while loop that is running.
struct RunningLoop {
  const Instruction* instruction = nullptr;
  int64_t iteration = 0;              // From 1 on; 0 while the first condition is computed.
  std::optional<int64_t> trip_count;  // Where the engine knows it.
};

// One execution of one instruction. Values are fetched when asked for, so that a copy from a device is paid
// only if somebody looks.
class StepView {
 public:
  virtual ~StepView() = default;
  virtual const Instruction& instruction() const = 0;
  // Name of the function that runs the step.
  virtual std::string_view kernel() const = 0;
  virtual int64_t device() const { return 0; }
  // How many calls lie around the step: 0 in the entry computation.
  virtual int64_t depth() const = 0;
  // The loops around the step, outermost first, as far as the engine counts them.
  virtual std::vector<RunningLoop> loops() const { return {}; }
  // The work of the step, of all instructions that it computes.
  virtual Cost cost() const { return InstructionCost(instruction()); }
  // Operand values: always before the step; after it only for an observer that needs_operands().
  virtual absl::StatusOr<Literal> Operand(int64_t i) const = 0;
  // The result, after the step.
  virtual absl::StatusOr<Literal> Result() const = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;
  // Keeps operands alive until AfterStep has seen them. Steps then cannot update them in place.
  virtual bool needs_operands() const { return false; }
  // Whether it has to see the steps of loops one by one; others may see a loop now and then instead, while it
  // runs.
  virtual bool needs_inner_steps() const { return true; }
  // Called around every instruction of computations that run instruction by instruction; those that are
  // applied to scalars, such as a reduce's, appear within their caller's step. A status that is not OK stops
  // the run with it.
  virtual absl::Status BeforeStep(const StepView& /*step*/) { return absl::OkStatus(); }
  virtual absl::Status AfterStep(const StepView& /*step*/) { return absl::OkStatus(); }
  // Once, at the end of the run.
  virtual void Finish(const absl::Status& /*outcome*/) {}
};

}  // namespace hlo
#pragma GCC visibility pop
