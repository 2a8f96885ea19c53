#pragma once
/// \file
/// Defines the hook that sees each instruction as it runs, in every engine. Traces, NaN checks and profiles
/// are observers.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo_run/cost.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

#pragma GCC visibility push(default)
namespace hlo {

/// A running loop: a `while`, or an instruction that the engine computes by a loop.
struct RunningLoop {
  const Instruction* instruction = nullptr;
  int64_t iteration = 0;              ///< Counts from 1; 0 while the first condition runs.
  std::optional<int64_t> trip_count;  ///< Empty if the engine does not know it.
};

/// An array that a step holds in memory: a leaf of an instruction's result.
struct StepValue {
  const Instruction* instruction = nullptr;
  int64_t leaf = 0;  ///< Counts the leaves of the result, tokens included, in order.
  Literal value;     ///< May view the engine's memory; it is then valid until the observer returns.
};

/// One execution of one instruction. Values are fetched lazily, so they are copied from a device only if an
/// observer needs them.
class StepView {
 public:
  virtual ~StepView() = default;
  virtual const Instruction& instruction() const = 0;
  /// Returns the name of the function that runs the step.
  virtual std::string_view kernel() const = 0;
  /// Returns true if the elements of the results are copies of elements of the operands.
  virtual bool only_moves() const { return Info(instruction().opcode()).has(kMovesElements); }
  /// Returns the index of the device in a run on several devices.
  virtual int64_t device() const { return 0; }
  /// Returns the depth of the call stack: 0 in the entry computation.
  virtual int64_t depth() const = 0;
  /// Returns the enclosing loops, outermost first, as far as the engine tracks them.
  virtual std::vector<RunningLoop> loops() const { return {}; }
  /// Returns the cost of all instructions that the step computes.
  virtual Cost cost() const { return InstructionCost(instruction()); }
  /// Returns an operand: always before the step; after it only if the observer has needs_operands().
  virtual absl::StatusOr<Literal> Operand(int64_t i) const = 0;
  /// Returns the result; valid after the step.
  virtual absl::StatusOr<Literal> Result() const = 0;
  /// Return the arrays in memory that the step reads, and after the step those that it has written. Values
  /// within a fusion are not in memory. Arguments and constants may be missing from the reads.
  virtual std::vector<StepValue> Reads() const { return {}; }
  virtual std::vector<StepValue> Writes() const { return {}; }
  /// Calls visit(type, elements, count) for each array of floats or complex numbers among Writes(), which
  /// takes less time. Returns false, without a call, if only Writes() has the values.
  using VisitElements = absl::FunctionRef<void(ElementType type, const std::byte* elements, int64_t count)>;
  virtual bool VisitWrittenFloats(VisitElements /*visit*/) const { return false; }
};

/// Receives the steps of a run.
class Observer {
 public:
  virtual ~Observer() = default;
  /// If true, operands stay alive until AfterStep returns, which prevents in-place updates.
  virtual bool needs_operands() const { return false; }
  /// If true, the observer sees every step in a loop. Otherwise an engine may report the loop as one step,
  /// repeatedly while it runs.
  virtual bool needs_inner_steps() const { return true; }
  /// If false, the observer only samples the run: an engine on a device neither waits for each step nor
  /// reports all of them.
  virtual bool needs_all_steps() const { return true; }
  /// If false, the observer calls neither loops() nor depth() of a step, and engines need not count
  /// iterations.
  virtual bool needs_loops() const { return true; }
  /// If true, the reference reports the instructions of computations that it applies to scalars, such as a
  /// reduce's, for every element. Otherwise they are part of their caller's step, as in other engines.
  virtual bool needs_scalar_steps() const { return false; }
  /// Called around every instruction. A status other than OK stops the run and is returned.
  virtual absl::Status BeforeStep(const StepView& /*step*/) { return absl::OkStatus(); }
  virtual absl::Status AfterStep(const StepView& /*step*/) { return absl::OkStatus(); }
  /// Called once at the end of the run with its status.
  virtual void Finish(const absl::Status& /*outcome*/) {}
};

}  // namespace hlo
#pragma GCC visibility pop
