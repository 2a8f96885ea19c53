#include "plan/gpu/gpu_plan.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "device/align.h"
#include "fmt/format.h"
#include "kernels/cuda/launch/run_state.h"
#include "kernels/cuda/reduce/lower_reduce.h"
#include "kernels/cuda/vm/lower_loop.h"
#include "plan/gpu/concurrent_loops.h"
#include "plan/gpu/epilogue_fusion.h"
#include "plan/gpu/graph_capture.h"
#include "plan/gpu/row_fusion.h"
#include "plan/gpu/select_kernel.h"
#include "plan/gpu/small_steps.h"
#include "plan/step_cost.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

constexpr int64_t kMaxCopiedBytes = 1 << 20;

// Returns why the reference must evaluate the instruction.
std::string ReasonForCpu(const Plan& plan, const Step& step, const ReferenceStep& reference) {
  const auto is_literal = [&](Slot slot) { return plan.IsLiteral(slot); };
  if (std::any_of(reference.operands.begin(), reference.operands.end(), is_literal) ||
      std::any_of(reference.results.begin(), reference.results.end(), is_literal))
    return "dynamic sizes";
  if (Info(step.instruction->opcode()).has(kCollective))
    return "devices exchange values in the memory of the host";
  return fmt::format("no kernel takes this {}", Name(step.instruction->opcode()));
}

GpuStep LowerStep(const Plan& plan, const Step& step, const device::DeviceProperties& device) {
  GpuStep lowered;
  const auto add = [&](absl::StatusOr<cuda::LoweredProgram> program) {
    if (!program.ok()) {
      lowered.reason = std::string(Message(program.status()));
      lowered.programs.clear();
      return false;
    }
    lowered.name = program->name;
    lowered.programs.push_back(*std::move(program));
    return true;
  };
  if (const auto* tiles = std::get_if<TileStep>(&step.what)) {
    lowered.programs = LowerConcurrentLoops(plan, step, device);
    if (!lowered.programs.empty()) {
      lowered.name = lowered.programs[0].name;
      return lowered;
    }
    for (const loops::LoopProgram& program : tiles->programs) {
      if (!add(cuda::LowerLoop(program, device))) break;
    }
  } else if (const auto* reduce = std::get_if<ReduceStep>(&step.what)) {
    add(cuda::LowerReduce(reduce->program, device));
  } else if (const auto* reference = std::get_if<ReferenceStep>(&step.what);
             reference != nullptr && reference->is_required) {
    lowered.reason = ReasonForCpu(plan, step, *reference);
  } else if (std::holds_alternative<KernelStep>(step.what) || reference != nullptr) {
    lowered.kernel = FindGpuKernel(*step.instruction, device);
    if (lowered.kernel.has_value())
      lowered.name = lowered.kernel->name;
    else if (Info(step.instruction->opcode()).has(kCollective))
      lowered.reason = "devices exchange values in the memory of the host";
    else
      lowered.reason = fmt::format("no kernel takes this {}", Name(step.instruction->opcode()));
    lowered.peer_collective = FindPeerCollective(*step.instruction);
  } else {
    lowered.name = KernelName(step);
  }
  if (!lowered.reason.empty()) lowered.name = fmt::format("cpu {}", KernelName(step));
  return lowered;
}

// Returns the bytes of a list of moves that are copied.
int64_t StagedBytes(const Plan& plan, const std::vector<Move>& moves) {
  int64_t bytes = 0;
  for (const Move& move : moves)
    bytes += SwapsBuffers(plan, move) || plan.IsLiteral(move.to)
                 ? 0
                 : device::Aligned(plan.buffers[move.to].byte_count);
  return bytes;
}

// Assigns offsets to buffers, the workspace of kernels, the staging memory of moves and the random state.
void AssignMemory(const Plan& plan, GpuPlan* gpu) {
  int64_t workspace = 0, staging = 0;
  for (const auto& [step, lowered] : gpu->steps) {
    for (const cuda::LoweredProgram& program : lowered.programs)
      workspace = std::max(workspace, program.workspace_bytes);
    if (lowered.with_epilogue.has_value())
      workspace = std::max(workspace, lowered.with_epilogue->kernel.workspace_bytes);
    if (!lowered.kernel.has_value()) continue;
    workspace = std::max(workspace, lowered.kernel->workspace_bytes);
    gpu->needs_run_state |= lowered.kernel->needs_run_state;
  }
  VisitAllMoves(plan.steps, [&](const std::vector<Move>& moves) {
    staging = std::max(staging, StagedBytes(plan, moves));
  });
  int64_t end = device::Aligned(plan.arena_bytes);
  const auto take = [&](int64_t bytes) { return std::exchange(end, end + device::Aligned(bytes)); };
  for (size_t slot = 0; slot < plan.buffers.size(); ++slot) {
    const Buffer& buffer = plan.buffers[slot];
    const bool in_arena =
        buffer.kind == Buffer::Kind::kArena && !gpu->moved.contains(static_cast<Slot>(slot));
    gpu->offsets.push_back(buffer.donor >= 0 || buffer.kind == Buffer::Kind::kLiteral ? -1
                           : in_arena                                                 ? buffer.offset
                                      : take(buffer.byte_count));
  }
  gpu->workspace = take(workspace);
  gpu->staging = take(staging);
  gpu->run_state = take(sizeof(cuda::RunState));
  gpu->byte_count = end;
}

}  // namespace

bool SwapsBuffers(const Plan& plan, const Move& move) {
  return move.swaps && plan.buffers[move.to].byte_count > kMaxCopiedBytes;
}
bool CopiesBuffers(const Plan& plan, const Move& move) {
  return !SwapsBuffers(plan, move) && !plan.IsLiteral(move.to) && !plan.IsLiteral(move.from);
}

GpuPlan MakeGpuPlan(const Plan& plan, const device::DeviceProperties& device, const GpuPlanOptions& options) {
  GpuPlan gpu;
  VisitStepLists(plan.steps, [&](const std::vector<Step>& steps) {
    for (const Step& step : steps) gpu.steps.emplace(&step, LowerStep(plan, step, device));
  });
  FuseEpilogues(plan, device, &gpu);
  FuseRows(plan, device, &gpu);
  if (options.fuses_small_steps) FuseSmallSteps(plan, device, &gpu);
  FindCapturableLoops(plan, &gpu);
  FindCapturablePlan(plan, &gpu);
  AssignMemory(plan, &gpu);
  return gpu;
}

}  // namespace hlo::plan
