#pragma once
// Runs a plan on the CPU: the steps in order, on buffers addressed by one table of pointers.

#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/status/statusor.h"
#include "exec/compiled_steps.h"
#include "exec/step_runner.h"
#include "kernels/cpu/bytecode/bytecode.h"
#include "plan/plan.h"
#include "plan/step_cost.h"

namespace hlo::exec {

class Executor : StepRunner<Executor> {
 public:
  // The plan must be of the module. Both must outlive the executor, which keeps its memory between runs.
  // `programs` are those of the module for instructions that the reference runs; null: made on first use.
  // `steps` are those of the plan; null: they are not shared.
  Executor(const CheckedModule& module, const plan::Plan& plan,
           std::shared_ptr<const reference::Programs> programs = nullptr,
           std::shared_ptr<CompiledSteps> steps = nullptr)
      : StepRunner(module, plan, std::move(programs)),
        steps_(steps != nullptr ? std::move(steps) : std::make_shared<CompiledSteps>(plan)) {}

  // Results may alias arguments that nobody but `arguments` holds.
  absl::StatusOr<Literal> Run(const std::vector<Literal>& arguments, const EvaluateOptions& options);

 private:
  friend StepRunner;

  // For StepRunner.
  static constexpr bool kIsReadable = true, kBorrowsOperands = true;
  static constexpr int64_t kStagingAlignment = 1;
  static std::string_view NameOf(const plan::Step& step) { return plan::KernelName(step); }
  absl::Status RunKernels(const plan::Step& step);
  static std::optional<absl::Status> RunFusedSteps(const plan::Step&) { return std::nullopt; }
  static absl::Status Wait() { return absl::OkStatus(); }
  absl::Status Read(void* to, Slot slot, size_t byte_count) const {
    std::memcpy(to, pointers_[slot], byte_count);
    return absl::OkStatus();
  }
  std::optional<int64_t> PeekTripCount(const plan::LoopStep& loop) const { return TripCount(loop, true); }
  static absl::StatusOr<std::optional<int64_t>> FindTripCount(const plan::LoopStep& /*loop*/) {
    return std::optional<int64_t>();
  }
  static std::optional<absl::Status> RepeatOnDevice(const plan::Step&, const plan::LoopStep&, bool) {
    return std::nullopt;
  }
  static std::optional<absl::Status> CaptureConditional(const plan::BranchStep&) { return std::nullopt; }
  static void OnBranch(const plan::Step&, size_t) {}
  static bool SwapsBuffers(const plan::Move& move) { return move.swaps; }
  void SwapBuffers(const plan::Move& move);
  static absl::Status Copy(void* to, const void* from, int64_t byte_count) {
    std::memcpy(to, from, byte_count);
    return absl::OkStatus();
  }
  std::byte* Staging(int64_t byte_count);
  absl::Status RunMoves(const std::vector<plan::Move>& moves) { return MoveBytes(moves); }
  // Returns a literal that views the memory of a slot.
  Literal ViewOf(Slot slot, const Shape& shape) const;
  absl::StatusOr<Literal> OperandLeaf(Slot slot, const Shape& shape);
  absl::Status StoreLeaf(const Literal& value, Slot slot);
  absl::StatusOr<Literal> ResultLeaf(size_t leaf);

  template <class Program>
  const Program& Compiled(const plan::Step& step) const {
    return std::get<Program>(&step == escaped_to_ ? *escape_ : compiled_->at(&step));
  }
  absl::Status Bind(const std::vector<Literal>& arguments);
  absl::StatusOr<Literal> TakeResults();
  absl::Status RunKernel(const plan::Step& step, const plan::KernelStep& kernel);
  absl::Status RunProduct(const plan::Step& step, const plan::ProductStep& product);
  absl::Status RunReference(const Instruction& instruction, const plan::ReferenceStep& step);
  absl::Status RunBytecode(const plan::PlanBytecode& code);
  // Returns the loop's trip count if it is known; `is_at_start`: the counter has its initial value.
  std::optional<int64_t> TripCount(const plan::LoopStep& loop, bool is_at_start) const;
  std::vector<RunningLoop> LoopsOf(const plan::PlanBytecode& code,
                                   absl::Span<const int64_t> iterations) const;
  const StepProperties& PropertiesOf(const plan::Step& step);

  std::shared_ptr<CompiledSteps> steps_;
  const CompiledSteps::ByStep* compiled_ = nullptr;  // The steps of the current run.
  // The step that the bytecode has escaped to, and its code.
  const plan::Step* escaped_to_ = nullptr;
  const plan::CpuStep* escape_ = nullptr;
  std::shared_ptr<Buffer> arena_;
  std::vector<std::shared_ptr<Buffer>> owners_;  // Indexed by slot; null in the arena.
  std::vector<std::byte> staged_;
  // For observers; created on first use. The plan's bytecode with iteration counters, and properties of its
  // steps.
  std::optional<cpu::Bytecode> counting_;
  absl::node_hash_map<const plan::Step*, StepProperties> properties_;
};

}  // namespace hlo::exec
