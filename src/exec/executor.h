#pragma once
// Runs a plan on the CPU: the steps in order, on buffers addressed by one table of pointers.

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "exec/plan_run.h"
#include "hlo_run/observer.h"
#include "hlo_run/run.h"
#include "kernels/cpu/bytecode/bytecode.h"
#include "plan/plan.h"
#include "reference/evaluator.h"

namespace hlo::exec {

class Executor {
 public:
  // The plan must be of the module. Both must outlive the executor, which keeps its memory between runs.
  // `programs` are those of the module for instructions that the reference runs; null: made on first use.
  Executor(const CheckedModule& module, const plan::Plan& plan,
           std::shared_ptr<const reference::Programs> programs = nullptr)
      : module_(module), plan_(plan), programs_(std::move(programs)) {}

  // Results may alias arguments that nobody but `arguments` holds.
  absl::StatusOr<Literal> Run(std::vector<Literal> arguments, const EvaluateOptions& options);

 private:
  absl::Status Bind(std::vector<Literal> arguments);
  absl::StatusOr<Literal> TakeResults();
  absl::StatusOr<Literal> ResultLeaf(size_t leaf);
  absl::StatusOr<Literal> AssembleResult(const Shape& shape, size_t* leaf);

  absl::Status RunSteps(const std::vector<plan::Step>& steps);
  absl::Status RunStep(const plan::Step& step);
  absl::Status RunKernel(const Instruction& instruction, const plan::KernelStep& step);
  absl::Status RunProduct(const Instruction& instruction, const plan::ProductStep& step);
  absl::Status RunReference(const Instruction& instruction, const plan::ReferenceStep& step);
  absl::Status RunCode(const plan::PlanCode& code);
  absl::Status CallReference(const Instruction& instruction, const plan::ReferenceStep& step);
  absl::Status RunLoop(const Instruction& instruction, const plan::LoopStep& loop);
  // Returns the loop's trip count if it is known; `is_at_start`: the counter has its initial value.
  std::optional<int64_t> TripCount(const plan::LoopStep& loop, bool is_at_start) const;
  std::vector<RunningLoop> LoopsOf(const plan::PlanCode& code, absl::Span<const int64_t> iterations) const;
  absl::Status RunBranch(const plan::BranchStep& branch);
  void Exchange(const plan::Move& move);
  absl::Status RunMoves(const std::vector<plan::Move>& moves);
  bool IsInPlace(const plan::Move& move) const;
  void MoveBytes(const std::vector<plan::Move>& moves);
  // Returns a literal that views the memory of a slot.
  Literal ViewOf(plan::Slot slot, const Shape& shape) const;
  absl::StatusOr<Literal> LiteralIn(plan::Slot slot, const Shape& shape);
  bool IsLiteral(plan::Slot slot) const { return plan_.buffers[slot].kind == plan::Buffer::Kind::kLiteral; }
  absl::StatusOr<Literal> OperandLiteral(const Shape& shape, const plan::ReferenceStep& step, size_t* leaf);
  absl::Status StoreResult(const Literal& value, const plan::ReferenceStep& step, size_t* leaf);

  const CheckedModule& module_;
  const plan::Plan& plan_;
  std::shared_ptr<const reference::Programs> programs_;
  std::shared_ptr<Buffer> arena_;
  std::vector<void*> pointers_;                  // Indexed by slot.
  std::vector<std::shared_ptr<Buffer>> owners_;  // Indexed by slot; null in the arena.
  std::vector<Literal> literals_;                // Indexed by slot; empty if the buffer is not a literal.
  std::vector<std::byte> staged_;
  std::optional<EvaluateOptions> options_;
  std::unique_ptr<reference::Evaluator> evaluator_;  // Created on first use.
  StepLimits limits_;
  int64_t depth_ = 0;               // Number of enclosing loops and conditionals.
  std::vector<RunningLoop> loops_;  // Outermost first.
  // The plan's bytecode with iteration counters, for observers; created on first use.
  std::optional<cpu::StepCode> counting_;
};

}  // namespace hlo::exec
