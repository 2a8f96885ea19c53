#pragma once
// The part of a plan that only a GPU needs: the kernels of its steps, the loops that can run as captured
// graphs, and the offsets of buffers.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "device/properties.h"
#include "kernels/cuda/launch/cuda_kernel.h"
#include "kernels/cuda/launch/lowered_program.h"
#include "plan/gpu/peer_collectives.h"
#include "plan/plan.h"

namespace hlo::plan {

// Row fusion: loops and reductions over the same rows that one launch computes. It runs in place of the last
// of them; the others then run nothing.
struct FusedRows {
  cuda::LoweredProgram program;
  std::vector<const Step*> members;
  // The launch requires that the memory of `written` does not overlap that of `other`. With may_coincide,
  // both may begin at the same address. Otherwise the members run one by one.
  struct Overlap {
    Slot other, written;
    bool may_coincide;
  };
  std::vector<Overlap> overlaps;
};

// Consecutive small steps that one thread block computes in one launch, control flow included. Runs with
// observers or limits run the steps one by one.
struct FusedSteps {
  cuda::LoweredProgram program;
  const Step* first;
};

// The implementation of a step.
struct GpuStep {
  std::string name;                            // The name of the kernel.
  std::string reason;                          // Why the step runs on the CPU; empty: it does not.
  std::optional<cuda::CudaKernel> kernel;      // The kernel of a whole instruction.
  std::vector<cuda::LoweredProgram> programs;  // The programs of a loop or reduction, in order.
  // A dot or convolution: the kernel that applies the next step, a loop, to the result in its epilogue. It
  // can replace both if the loop's result overlaps no operand in memory.
  struct WithEpilogue {
    cuda::CudaKernel kernel;
    const Step* loop = nullptr;
    std::vector<Slot> operands;
    Slot result = -1;
  };
  std::optional<WithEpilogue> with_epilogue;
  // A collective that devices run between GPUs if all are in one process; otherwise the CPU runs it.
  std::optional<PeerCollective> peer_collective;
  // The row fusion, and the launch of small steps, that the step is a part of; null: none.
  std::shared_ptr<const FusedRows> fused_rows;
  std::shared_ptr<const FusedSteps> fused_steps;
  // A while loop: true if an iteration can be captured as a graph, which the GPU repeats without host
  // synchronisation, once all branches of the conditionals in it have run.
  bool is_capturable = false;
  std::vector<const Step*> conditionals;
};

struct GpuPlan {
  absl::flat_hash_map<const Step*, GpuStep> steps;
  // All buffers and the memory of kernels and moves are parts of one allocation. Offsets of the buffers,
  // indexed by slot; -1: the buffer may alias an argument, or is allocated separately.
  std::vector<int64_t> offsets;
  absl::flat_hash_set<Slot> moved;  // Buffers of the arena that have memory of their own.
  int64_t byte_count = 0;
  int64_t workspace = 0, staging = 0, run_state = 0;  // Offsets.
  bool needs_run_state = false;
  // True if all steps of a run can be captured as one graph, and a graph of so many launches is profitable.
  bool is_capturable = false;
};

// Options that only tests change.
struct GpuPlanOptions {
  bool fuses_small_steps = true;
};
// Lowers all steps of the plan, which must outlive the result, for this GPU.
GpuPlan MakeGpuPlan(const Plan& plan, const device::DeviceProperties& device,
                    const GpuPlanOptions& options = {});

// True if the move swaps its buffers instead of copying. Captured iterations cannot do that, so smaller
// buffers are copied.
bool SwapsBuffers(const Plan& plan, const Move& move);
// True if the move copies from buffer to buffer: it neither swaps them nor moves a literal.
bool CopiesBuffers(const Plan& plan, const Move& move);

}  // namespace hlo::plan
