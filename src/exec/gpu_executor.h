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
#include "kernels/cuda/registry.h"
#include "kernels/cuda/vm/lower_tile.h"
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
  // The implementation of a step.
  struct Prepared {
    std::string name;                        // Name of the kernel.
    std::string reason;                      // Reason for running on the CPU, if any.
    std::optional<cuda::CudaKernel> kernel;  // Kernel of a whole instruction.
    std::vector<cuda::LoweredProgram> programs;
    int64_t runs = 0, bytes = 0;  // CPU runs and bytes copied for them.
    // A product: the kernel that includes the loop after it as epilogue.
    std::optional<cuda::CudaKernel> fused;
    const plan::Step* loop = nullptr;
    std::vector<Slot> fused_operands;
    Slot fused_result = -1;
    bool is_done = false;  // A loop: computed by the product before it.
    // A loop: true if the GPU can repeat it without host synchronisation, provided its branches have all run
    // once; the captured graph, and the pointers that it was captured with.
    bool repeats_itself = false;
    std::vector<const plan::Step*> branches;
    std::unique_ptr<device::GpuLoop> recording;
    std::vector<void*> recorded_pointers;
    std::vector<bool> taken;  // A conditional: the branches that the host has run.
  };
  // The work that one iteration captures.
  struct Recordable {
    int64_t launches = 0;
    std::vector<const plan::Step*> branches;
  };

  Prepared PrepareStep(const plan::Step& step) const;
  void FuseEpilogues(const std::vector<plan::Step>& steps);
  bool OverwritesOperands(const plan::KernelStep& product, Slot result) const;

  absl::Status Allocate();
  absl::Status Bind(std::vector<Literal> arguments);
  absl::StatusOr<Literal> ResultLeaf(size_t leaf);
  absl::StatusOr<Literal> AssembleResult(const Shape& shape, size_t* leaf);

  absl::Status RunSteps(const std::vector<plan::Step>& steps);
  absl::Status RunStep(const plan::Step& step, Prepared& prepared);
  bool TakesKernel(Prepared& prepared) const;
  absl::Status RunKernel(absl::Span<const Slot> operands, absl::Span<const Slot> results,
                         const cuda::CudaKernel& kernel);
  absl::Status OfStep(absl::Status status, const plan::Step& step);
  absl::Status OfNoStep(absl::Status status);
  absl::Status RunLoop(const Instruction& instruction, const plan::LoopStep& loop, Prepared& prepared);
  absl::Status RunIteration(const plan::LoopStep& loop);
  absl::StatusOr<std::optional<int64_t>> LoopTripCount(const plan::LoopStep& loop);
  bool MovesAreRecordable(const std::vector<plan::Move>& moves, Recordable* body) const;
  bool StepsAreRecordable(const std::vector<plan::Step>& steps, Recordable* body) const;
  bool IsRecordable(const plan::Step& step, Recordable* body) const;
  bool IsRecordable(const plan::LoopStep& loop, Recordable* body) const;
  bool IsReady(const Prepared& loop) const;
  absl::Status RunRecorded(const plan::LoopStep& loop, Prepared& prepared);
  int64_t StagedBytes(const std::vector<plan::Move>& moves) const;
  absl::Status RunBranch(const plan::BranchStep& branch, Prepared& prepared);
  absl::Status RunBranchSteps(const plan::BranchStep::Branch& taken);
  absl::Status RunMoves(const std::vector<plan::Move>& moves);
  bool IsInPlace(const plan::Move& move) const;
  bool ChangesPlaces(const plan::Move& move) const;

  // CPU fallback.
  absl::Status RunProgramsOnCpu(const plan::Step& step, Prepared& prepared);
  absl::Status RunKernelOnCpu(const plan::Step& step, const plan::KernelStep& kernel, Prepared& prepared);
  absl::Status RunReference(const Instruction& instruction, absl::Span<const Slot> operands,
                            absl::Span<const Slot> results, Prepared& prepared);
  absl::StatusOr<void*> HostCopy(Slot slot, Prepared& prepared);
  absl::StatusOr<void*> HostMemory(Slot slot);
  absl::Status FromHost(Slot slot, Prepared& prepared);
  absl::StatusOr<Literal> OperandLiteral(const Shape& shape, absl::Span<const Slot> slots, size_t* leaf,
                                         Prepared& prepared);
  absl::Status StoreResult(const Literal& value, absl::Span<const Slot> slots, size_t* leaf,
                           Prepared& prepared);

  const CheckedModule& module_;
  const plan::Plan& plan_;
  std::shared_ptr<device::Gpu> gpu_;
  device::GpuMemory memory_;    // All buffers and the memory of kernels and moves.
  std::vector<int> uses_;       // Indexed by slot: number of occurrences in the plan.
  std::vector<int64_t> homes_;  // Indexed by slot: offset in memory_; -1: aliases an argument or is in own_.
  // Size of memory_ and offsets in it.
  int64_t memory_bytes_ = 0, workspace_ = 0, staging_ = 0, random_state_ = 0;
  bool takes_random_state_ = false;
  std::vector<void*> pointers_;  // Indexed by slot: device address.
  // Indexed by slot: memory of results that do not alias an argument.
  std::vector<device::GpuMemory> own_;
  // Indexed by slot: the argument that was copied to the device.
  std::vector<std::shared_ptr<Buffer>> uploaded_;
  // Indexed by slot: an argument, or one whose memory a result aliases.
  std::vector<std::shared_ptr<Buffer>> given_;
  std::vector<std::shared_ptr<Buffer>> host_;  // Indexed by slot: memory for steps on the CPU.
  absl::flat_hash_map<const plan::Step*, Prepared> prepared_;
  std::optional<EvaluateOptions> options_;
  std::unique_ptr<reference::Evaluator> evaluator_;
  StepLimits limits_;
  int64_t depth_ = 0;
  std::vector<RunningLoop> loops_;  // Outermost first.
  bool is_recording_ = false;       // A graph is being captured: pointers must not change.
  bool is_located_ = false;         // The error that ends the run already has a location.
};

}  // namespace hlo::exec
