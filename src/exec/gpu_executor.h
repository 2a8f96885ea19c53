#pragma once
// Runs a plan on a GPU: the same steps as the CPU executor, on device memory. Steps without a GPU kernel run
// on the CPU, on copies, and are counted.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "device/align.h"
#include "device/gpu.h"
#include "exec/gpu_engine.h"
#include "exec/gpu_exchange.h"
#include "exec/step_runner.h"
#include "hlo_run/execute.h"
#include "plan/cpu/compile_step.h"
#include "plan/gpu/gpu_plan.h"
#include "plan/plan.h"

namespace hlo::exec {

class GpuExecutor : public GpuEngine, StepRunner<GpuExecutor> {
 public:
  // `gpu_plan` must be made for this plan and GPU. Runs change its kernels.
  GpuExecutor(const CheckedModule& module, const plan::Plan& plan, std::shared_ptr<device::Gpu> gpu,
              plan::GpuPlan gpu_plan, std::shared_ptr<const reference::Programs> programs);

  absl::StatusOr<Literal> Run(std::vector<Literal> arguments, const EvaluateOptions& options,
                              absl::Span<const std::unique_ptr<GpuEngine>> peers) override;
  std::vector<Fallback> fallbacks() const override;
  std::unique_ptr<GpuEngine> ForDevice(std::shared_ptr<device::Gpu> gpu,
                                       std::shared_ptr<const reference::Programs> programs) const override;

 private:
  friend StepRunner;

  // A step, and its state between runs.
  struct StepState {
    const plan::GpuStep* gpu = nullptr;
    std::string reason;                        // Why the last run was on the CPU.
    int64_t runs = 0, bytes = 0;               // CPU runs and bytes copied for them.
    std::unique_ptr<const plan::CpuStep> cpu;  // Its code for CPU runs.
    bool is_done = false;                      // A loop: computed in the epilogue of the step before it.
    // A while loop that was captured: the graph, and the pointers that it was captured with.
    std::unique_ptr<device::GpuGraph> graph;
    std::vector<void*> captured_pointers;
    bool cannot_capture = false;  // The device refused.
    std::vector<bool> taken;      // A conditional: the branches that the host has run.
  };

  // For StepRunner.
  static constexpr bool kIsReadable = false, kBorrowsOperands = false;
  static constexpr int64_t kStagingAlignment = device::kAlignment;
  std::string_view NameOf(const plan::Step& step) const {
    const plan::GpuStep& lowered = gpu_plan_.steps.at(&step);
    return UsesPeers(lowered) ? lowered.peer_collective->name : lowered.name;
  }
  absl::Status RunKernels(const plan::Step& step);
  std::optional<absl::Status> RunFusedSteps(const plan::Step& step);
  absl::Status Wait() { return gpu_->Synchronize(); }
  absl::Status Read(void* to, Slot slot, size_t byte_count);
  static std::optional<int64_t> PeekTripCount(const plan::LoopStep& loop);
  absl::StatusOr<std::optional<int64_t>> FindTripCount(const plan::LoopStep& loop);
  std::optional<absl::Status> RepeatOnDevice(const plan::Step& step, const plan::LoopStep& loop,
                                             bool is_counted);
  std::optional<absl::Status> CaptureConditional(const plan::BranchStep& branch);
  void OnBranch(const plan::Step& step, size_t number);
  bool SwapsBuffers(const plan::Move& move) const { return plan::SwapsBuffers(plan_, move); }
  void SwapBuffers(const plan::Move& move) { std::swap(pointers_[move.to], pointers_[move.from]); }
  absl::Status Copy(void* to, const void* from, int64_t byte_count) {
    return gpu_->Copy(to, from, byte_count);
  }
  std::byte* Staging(int64_t /*byte_count*/) { return memory_.data() + gpu_plan_.staging; }
  absl::Status RunMoves(const std::vector<plan::Move>& moves);
  absl::StatusOr<Literal> OperandLeaf(Slot slot, const Shape& shape);
  absl::Status StoreLeaf(const Literal& value, Slot slot);
  absl::StatusOr<Literal> ResultLeaf(size_t leaf);

  bool IsLimited() const;
  bool IsWatched() const;
  bool IsReplayable() const;
  absl::Status RunPlan();
  absl::Status Allocate();
  absl::Status Bind(std::vector<Literal> arguments);
  bool OverwritesOperands(const plan::KernelStep& product, Slot result) const;
  bool RunsAsRows(const plan::FusedRows& rows, const plan::Step& member);
  bool CanRunKernel(StepState& state) const;
  bool UsesPeers(const plan::GpuStep& step) const {
    return step.peer_collective.has_value() && !peers_.empty();
  }
  absl::Status ExchangeWithPeers(const plan::Step& step, const plan::ReferenceStep& collective);
  absl::Status RunKernel(absl::Span<const Slot> operands, absl::Span<const Slot> results,
                         const cuda::CudaKernel& kernel);
  bool IsReady(const StepState& loop) const;
  absl::Status RunCaptured(const plan::LoopStep& loop, StepState& state);

  // CPU fallback.
  const plan::CpuStep& CpuCode(const plan::Step& step, StepState& state);
  absl::Status RunProgramsOnCpu(const plan::Step& step, StepState& state);
  absl::Status RunKernelOnCpu(const plan::Step& step, const plan::KernelStep& kernel, StepState& state);
  absl::Status RunReference(const Instruction& instruction, absl::Span<const Slot> operands,
                            absl::Span<const Slot> results, StepState& state);
  absl::StatusOr<void*> HostCopy(Slot slot, StepState& state);
  absl::StatusOr<void*> HostMemory(Slot slot);
  absl::Status FromHost(Slot slot, StepState& state);

  std::shared_ptr<device::Gpu> gpu_;
  plan::GpuPlan gpu_plan_;
  absl::Span<const std::unique_ptr<GpuEngine>> peers_;  // Those of the current run.
  GpuExchange exchange_;
  device::GpuMemory memory_;  // All buffers and the memory of kernels and moves, as in gpu_plan_.
  // Indexed by slot: memory of results that do not alias an argument.
  std::vector<device::GpuMemory> result_memory_;
  // Indexed by slot: the argument that was copied to the device.
  std::vector<std::shared_ptr<Buffer>> uploaded_;
  // Indexed by slot: an argument, or one whose memory a result aliases.
  std::vector<std::shared_ptr<Buffer>> argument_memory_;
  std::vector<std::shared_ptr<Buffer>> host_;  // Indexed by slot: memory for steps on the CPU.
  absl::flat_hash_map<const plan::Step*, StepState> states_;
  bool runs_as_rows_ = false;  // The fused steps that run now take one launch.
  // All steps as a graph, captured with the pointers of the last run.
  std::unique_ptr<device::GpuGraph> graph_;
  std::vector<void*> last_pointers_;
  bool cannot_capture_ = false;  // The device refused.
  int64_t copied_bytes_ = 0;     // Operands and results of the reference.
};

}  // namespace hlo::exec
