#pragma once
// Runs a plan on a GPU: the same steps as the CPU executor, on device memory. Steps without a GPU kernel run
// on the CPU, on copies, and are counted.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "device/gpu.h"
#include "exec/gpu_engine.h"
#include "exec/plan_run.h"
#include "hlo_run/execute.h"
#include "hlo_run/observer.h"
#include "plan/gpu/gpu_plan.h"
#include "plan/plan.h"
#include "reference/evaluator.h"

namespace hlo::exec {

class GpuExecutor : public GpuEngine {
 public:
  GpuExecutor(const CheckedModule& module, const plan::Plan& plan, std::shared_ptr<device::Gpu> gpu);

  absl::StatusOr<Literal> Run(std::vector<Literal> arguments, const EvaluateOptions& options) override;
  std::vector<Fallback> fallbacks() const override;

 private:
  using Slot = plan::Slot;
  // A step, and what its runs leave behind.
  struct StepState {
    const plan::GpuStep* gpu = nullptr;
    std::string reason;           // Why the last run was on the CPU.
    int64_t runs = 0, bytes = 0;  // CPU runs and bytes copied for them.
    bool is_done = false;         // A loop: computed in the epilogue of the step before it.
    // A while loop that was captured: the graph, and the pointers that it was captured with.
    std::unique_ptr<device::GpuLoop> graph;
    std::vector<void*> captured_pointers;
    bool cannot_capture = false;  // The device refused.
    std::vector<bool> taken;      // A conditional: the branches that the host has run.
  };

  bool OverwritesOperands(const plan::KernelStep& product, Slot result) const;

  absl::Status Allocate();
  absl::Status Bind(std::vector<Literal> arguments);
  absl::StatusOr<Literal> ResultLeaf(size_t leaf);
  absl::StatusOr<Literal> AssembleResult(const Shape& shape, size_t* leaf);

  absl::Status RunSteps(const std::vector<plan::Step>& steps);
  absl::Status RunStep(const plan::Step& step, StepState& state);
  bool TakesKernel(StepState& state) const;
  absl::Status RunKernel(absl::Span<const Slot> operands, absl::Span<const Slot> results,
                         const cuda::CudaKernel& kernel);
  absl::Status OfStep(absl::Status status, const plan::Step& step);
  absl::Status OfNoStep(absl::Status status);
  absl::Status RunLoop(const Instruction& instruction, const plan::LoopStep& loop, StepState& state);
  absl::Status RunIteration(const plan::LoopStep& loop);
  absl::StatusOr<std::optional<int64_t>> LoopTripCount(const plan::LoopStep& loop);
  bool IsReady(const StepState& loop) const;
  absl::Status RunCaptured(const plan::LoopStep& loop, StepState& state);
  absl::Status RunBranch(const plan::BranchStep& branch, StepState& state);
  absl::Status RunBranchSteps(const plan::BranchStep::Branch& taken);
  absl::Status RunMoves(const std::vector<plan::Move>& moves);
  bool IsInPlace(const plan::Move& move) const;

  // CPU fallback.
  absl::Status RunProgramsOnCpu(const plan::Step& step, StepState& state);
  absl::Status RunKernelOnCpu(const plan::Step& step, const plan::KernelStep& kernel, StepState& state);
  absl::Status RunReference(const Instruction& instruction, absl::Span<const Slot> operands,
                            absl::Span<const Slot> results, StepState& state);
  absl::StatusOr<void*> HostCopy(Slot slot, StepState& state);
  absl::StatusOr<void*> HostMemory(Slot slot);
  absl::Status FromHost(Slot slot, StepState& state);
  absl::StatusOr<Literal> OperandLiteral(const Shape& shape, absl::Span<const Slot> slots, size_t* leaf,
                                         StepState& state);
  absl::Status StoreResult(const Literal& value, absl::Span<const Slot> slots, size_t* leaf,
                           StepState& state);

  const CheckedModule& module_;
  const plan::Plan& plan_;
  std::shared_ptr<device::Gpu> gpu_;
  plan::GpuPlan gpu_plan_;
  device::GpuMemory memory_;     // All buffers and the memory of kernels and moves, as in gpu_plan_.
  std::vector<void*> pointers_;  // Indexed by slot: device address.
  // Indexed by slot: memory of results that do not alias an argument.
  std::vector<device::GpuMemory> own_;
  // Indexed by slot: the argument that was copied to the device.
  std::vector<std::shared_ptr<Buffer>> uploaded_;
  // Indexed by slot: an argument, or one whose memory a result aliases.
  std::vector<std::shared_ptr<Buffer>> given_;
  std::vector<std::shared_ptr<Buffer>> host_;  // Indexed by slot: memory for steps on the CPU.
  absl::flat_hash_map<const plan::Step*, StepState> states_;
  std::optional<EvaluateOptions> options_;
  std::unique_ptr<reference::Evaluator> evaluator_;
  StepLimits limits_;
  int64_t depth_ = 0;
  std::vector<RunningLoop> loops_;  // Outermost first.
  bool is_capturing_ = false;       // A graph is being captured: pointers must not change.
  bool is_located_ = false;         // The error that ends the run already has a location.
};

}  // namespace hlo::exec
