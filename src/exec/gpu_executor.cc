#include "exec/gpu_executor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/status.h"
#include "device/align.h"
#include "exec/gpu_kernels.h"
#include "exec/step_view.h"
#include "fmt/format.h"
#include "kernels/cuda/random/random_body.h"
#include "kernels/cuda/reduce/lower_reduce.h"
#include "kernels/cuda/vm/lower_tile.h"
#include "reference/op.h"
#include "reference/program.h"
#include "reference/supported.h"

namespace hlo::exec {
namespace {

using plan::Move;
using plan::Slot;

// Calls on_steps(list) for every list of steps, and on_moves for the moves that belong to it.
template <class Steps, class Moves>
void EachList(const std::vector<plan::Step>& steps, Steps&& on_steps, Moves&& on_moves) {
  on_steps(steps);
  for (const plan::Step& step : steps) {
    if (const auto* loop = std::get_if<plan::LoopStep>(&step.what)) {
      on_moves(loop->initial);
      on_moves(loop->next);
      EachList(loop->condition, on_steps, on_moves);
      EachList(loop->body, on_steps, on_moves);
    } else if (const auto* branch = std::get_if<plan::BranchStep>(&step.what)) {
      for (const plan::BranchStep::Branch& taken : branch->branches) {
        on_moves(taken.results);
        EachList(taken.steps, on_steps, on_moves);
      }
    }
  }
}

}  // namespace

GpuExecutor::GpuExecutor(const CheckedModule& module, const plan::Plan& plan,
                         std::shared_ptr<device::Gpu> gpu)
    : module_(module), plan_(plan), gpu_(std::move(gpu)) {
  int64_t workspace = 0, staging = 0;
  EachList(
      plan_.steps,
      [&](const std::vector<plan::Step>& steps) {
        for (const plan::Step& step : steps) prepared_[&step] = PrepareStep(step);
        FuseEpilogues(steps);
      },
      [&](const std::vector<Move>& moves) { staging = std::max(staging, StagedBytes(moves)); });
  for (auto& [step, prepared] : prepared_) {
    for (const cuda::LoweredProgram& program : prepared.programs)
      workspace = std::max(workspace, program.workspace_bytes);
    for (const auto* kernel : {&prepared.kernel, &prepared.fused}) {
      if (kernel->has_value()) workspace = std::max(workspace, (*kernel)->workspace_bytes);
    }
    const auto* loop = std::get_if<plan::LoopStep>(&step->what);
    if (loop == nullptr) continue;
    Recordable body;
    prepared.repeats_itself = IsRecordable(*loop, &body);
    prepared.branches = std::move(body.branches);
  }
  int64_t at = device::Aligned(plan_.arena_bytes);
  const auto take = [&](int64_t bytes) { return std::exchange(at, at + device::Aligned(bytes)); };
  for (const plan::Buffer& buffer : plan_.buffers)
    homes_.push_back(buffer.donor >= 0                           ? -1
                     : buffer.kind == plan::Buffer::Kind::kArena ? buffer.offset
                                                                 : take(buffer.byte_count));
  workspace_ = take(workspace);
  staging_ = take(staging);
  for (const auto& [step, prepared] : prepared_)
    takes_random_state_ |= prepared.kernel.has_value() && prepared.kernel->takes_random_state;
  random_state_ = take(sizeof(cuda::RandomState));
  memory_bytes_ = at;
}

GpuExecutor::Prepared GpuExecutor::PrepareStep(const plan::Step& step) const {
  Prepared prepared;
  const auto lowered = [&](absl::StatusOr<cuda::LoweredProgram> program) {
    if (!program.ok()) {
      prepared.reason = std::string(Message(program.status()));
      prepared.programs.clear();
      return false;
    }
    prepared.name = program->name;
    prepared.programs.push_back(*std::move(program));
    return true;
  };
  if (const auto* tiles = std::get_if<plan::TileStep>(&step.what)) {
    for (const cpu::TileProgram& program : tiles->programs) {
      if (!lowered(cuda::LowerTile(program, gpu_->properties()))) break;
    }
  } else if (const auto* reduce = std::get_if<plan::ReduceStep>(&step.what)) {
    lowered(cuda::LowerReduce(reduce->program, gpu_->properties()));
  } else if (std::holds_alternative<plan::KernelStep>(step.what) ||
             std::holds_alternative<plan::ReferenceStep>(step.what)) {
    prepared.kernel = FindGpuKernel(*step.instruction, gpu_->properties());
    if (prepared.kernel.has_value())
      prepared.name = prepared.kernel->name;
    else
      prepared.reason = fmt::format("no kernel takes this {}", Name(step.instruction->opcode()));
  } else {
    prepared.name = plan::KernelName(step);
  }
  if (!prepared.reason.empty()) prepared.name = fmt::format("cpu {}", plan::KernelName(step));
  return prepared;
}

std::vector<Fallback> GpuExecutor::fallbacks() const {
  std::vector<Fallback> found;
  EachList(
      plan_.steps,
      [&](const std::vector<plan::Step>& steps) {
        for (const plan::Step& step : steps) {
          const Prepared& prepared = prepared_.at(&step);
          if (prepared.runs > 0)
            found.push_back({step.instruction, prepared.reason, prepared.runs, prepared.bytes});
        }
      },
      [](const std::vector<Move>&) {});
  return found;
}

absl::StatusOr<Literal> GpuExecutor::Run(std::vector<Literal> arguments, const EvaluateOptions& options) {
  options_ = options;
  evaluator_ = nullptr;
  limits_ = StepLimits(options);
  depth_ = 0;
  loops_.clear();
  is_located_ = false;
  HLO_RETURN_IF_ERROR(Allocate());
  HLO_RETURN_IF_ERROR(Bind(std::move(arguments)));
  if (takes_random_state_) {
    const cuda::RandomState state{options.seed, reference::Evaluator::kFirstCounter[0],
                                  reference::Evaluator::kFirstCounter[1]};
    HLO_RETURN_IF_ERROR(gpu_->ToDevice(memory_.data() + random_state_, &state, sizeof state));
  }
  HLO_RETURN_IF_ERROR(RunSteps(plan_.steps));
  size_t leaf = 0;
  absl::StatusOr<Literal> result = AssembleResult(module_.module().entry()->root()->shape(), &leaf);
  given_.clear();
  return result;
}

absl::Status GpuExecutor::Allocate() {
  if (memory_.data() != nullptr) return absl::OkStatus();
  HLO_ASSIGN_OR_RETURN(void* memory, gpu_->Allocate(memory_bytes_, "the buffers of the plan"));
  memory_ = device::GpuMemory(*gpu_, memory);
  own_.resize(plan_.buffers.size());
  uploaded_.resize(plan_.buffers.size());
  host_.resize(plan_.buffers.size());
  for (size_t slot = 0; slot < homes_.size(); ++slot) {
    const plan::Buffer& buffer = plan_.buffers[slot];
    if (buffer.kind != plan::Buffer::Kind::kConstant) continue;
    HLO_RETURN_IF_ERROR(
        gpu_->ToDevice(memory_.data() + homes_[slot], buffer.constant->data(), buffer.byte_count));
  }
  return absl::OkStatus();
}

// Donates the device copies of arguments that nobody else holds to the results that may alias them.
absl::Status GpuExecutor::Bind(std::vector<Literal> arguments) {
  const std::vector<const Literal*> leaves = Leaves(arguments);
  pointers_.resize(plan_.buffers.size());
  given_.assign(plan_.buffers.size(), nullptr);
  std::vector<bool> given_up(plan_.buffers.size());
  for (size_t slot = 0; slot < pointers_.size(); ++slot) {
    const plan::Buffer& buffer = plan_.buffers[slot];
    pointers_[slot] = homes_[slot] < 0 ? nullptr : memory_.data() + homes_[slot];
    if (buffer.kind != plan::Buffer::Kind::kParameter) continue;
    const std::shared_ptr<Buffer>& argument = leaves[buffer.parameter]->buffer();
    // A host buffer that the executor holds does not change, so its device copy of the previous run is still
    // valid.
    const bool is_there = uploaded_[slot] == argument;
    given_up[slot] = argument.use_count() == (is_there ? 2 : 1);
    if (!is_there) HLO_RETURN_IF_ERROR(gpu_->ToDevice(pointers_[slot], argument->data(), buffer.byte_count));
    uploaded_[slot] = given_up[slot] ? nullptr : argument;
    given_[slot] = argument;
  }
  for (size_t slot = 0; slot < pointers_.size(); ++slot) {
    const Slot taken = plan_.buffers[slot].donor;
    if (taken < 0) continue;
    if (given_up[taken]) {
      pointers_[slot] = pointers_[taken];
      given_[slot] = std::move(given_[taken]);
      continue;
    }
    if (own_[slot].data() == nullptr) {
      HLO_ASSIGN_OR_RETURN(void* memory, gpu_->Allocate(plan_.buffers[slot].byte_count, "a result"));
      own_[slot] = device::GpuMemory(*gpu_, memory);
    }
    pointers_[slot] = own_[slot].data();
  }
  return absl::OkStatus();
}

absl::StatusOr<Literal> GpuExecutor::ResultLeaf(size_t leaf) {
  const Slot slot = plan_.results[leaf];
  if (slot < 0) return Literal::Token();
  const plan::Buffer& buffer = plan_.buffers[slot];
  std::shared_ptr<Buffer> memory = std::move(given_[slot]);
  if (buffer.kind == plan::Buffer::Kind::kParameter) {
    given_[slot] = memory;
  } else {
    if (memory == nullptr) {
      HLO_ASSIGN_OR_RETURN(memory, Buffer::Allocate(buffer.byte_count));
    }
    HLO_RETURN_IF_ERROR(gpu_->ToHost(memory->data(), pointers_[slot], buffer.byte_count));
  }
  return Literal::FromBuffer(plan_.result_shapes[leaf], std::move(memory));
}

absl::StatusOr<Literal> GpuExecutor::AssembleResult(const Shape& shape, size_t* leaf) {
  if (!shape.IsTuple()) return ResultLeaf((*leaf)++);
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) {
    HLO_ASSIGN_OR_RETURN(Literal value, AssembleResult(element, leaf));
    elements.push_back(std::move(value));
  }
  return Literal::Tuple(std::move(elements));
}

absl::Status GpuExecutor::RunSteps(const std::vector<plan::Step>& steps) {
  Observer* observer = options_->observer;
  const auto loops = [this] { return loops_; };
  for (const plan::Step& step : steps) {
    HLO_RETURN_IF_ERROR(OfNoStep(limits_.Take()));
    Prepared& prepared = prepared_.at(&step);
    if (observer == nullptr) {
      HLO_RETURN_IF_ERROR(OfStep(RunStep(step, prepared), step));
      continue;
    }
    const PlanStepView view(plan_, step, prepared.name, depth_, loops);
    HLO_RETURN_IF_ERROR(OfNoStep(observer->BeforeStep(view)));
    ++depth_;
    HLO_RETURN_IF_ERROR(OfStep(RunStep(step, prepared), step));
    // Observers synchronise, so that time is attributed to the step.
    HLO_RETURN_IF_ERROR(OfStep(gpu_->Synchronize(), step));
    --depth_;
    HLO_RETURN_IF_ERROR(OfNoStep(observer->AfterStep(view)));
  }
  return absl::OkStatus();
}

// Adds the location of the innermost step. Unimplemented during capture is not an error.
absl::Status GpuExecutor::OfStep(absl::Status status, const plan::Step& step) {
  if (status.ok() || (is_recording_ && absl::IsUnimplemented(status))) return status;
  return std::exchange(is_located_, true) ? status : reference::Located(status, *step.instruction);
}
absl::Status GpuExecutor::OfNoStep(absl::Status status) {
  is_located_ |= !status.ok();
  return status;
}

// True if the step has a kernel that may run. Under limits, kernels with loops of the module may not, because
// they do not count iterations.
bool GpuExecutor::TakesKernel(Prepared& prepared) const {
  const bool watched = options_->max_steps > 0 || options_->max_seconds > 0;
  if (!prepared.kernel.has_value() || !prepared.kernel->may_loop || !watched)
    return prepared.kernel.has_value();
  prepared.reason = "loops of elements under a limit of steps or time";
  return false;
}

absl::Status GpuExecutor::RunStep(const plan::Step& step, Prepared& prepared) {
  if (const auto* loop = std::get_if<plan::LoopStep>(&step.what))
    return RunLoop(*step.instruction, *loop, prepared);
  if (const auto* branch = std::get_if<plan::BranchStep>(&step.what)) return RunBranch(*branch, prepared);
  if (std::exchange(prepared.is_done, false)) return absl::OkStatus();
  if (!prepared.programs.empty()) {
    const auto* tiles = std::get_if<plan::TileStep>(&step.what);
    const bool in_place =
        tiles != nullptr && tiles->updated >= 0 && pointers_[tiles->updated] == pointers_[tiles->result];
    for (size_t p = in_place ? 1 : 0; p < prepared.programs.size(); ++p) {
      HLO_RETURN_IF_ERROR(
          prepared.programs[p].run(pointers_.data(), memory_.data() + workspace_, gpu_->stream()));
    }
    return absl::OkStatus();
  }
  if (const auto* kernel = std::get_if<plan::KernelStep>(&step.what)) {
    if (prepared.fused.has_value() && !OverwritesOperands(*kernel, prepared.fused_result)) {
      prepared_.at(prepared.loop).is_done = true;
      return RunKernel(prepared.fused_operands, {prepared.fused_result}, *prepared.fused);
    }
    if (TakesKernel(prepared)) return RunKernel(kernel->operands, kernel->results, *prepared.kernel);
    return RunKernelOnCpu(step, *kernel, prepared);
  }
  if (const auto* reference = std::get_if<plan::ReferenceStep>(&step.what)) {
    if (TakesKernel(prepared)) return RunKernel(reference->operands, reference->results, *prepared.kernel);
    return RunReference(*step.instruction, reference->operands, reference->results, prepared);
  }
  return RunProgramsOnCpu(step, prepared);
}

absl::Status GpuExecutor::RunKernel(absl::Span<const Slot> operands, absl::Span<const Slot> results,
                                    const cuda::CudaKernel& kernel) {
  absl::InlinedVector<const void*, 8> in;
  absl::InlinedVector<void*, 8> out;
  for (const Slot slot : operands) in.push_back(slot < 0 ? nullptr : pointers_[slot]);
  for (const Slot slot : results) out.push_back(slot < 0 ? nullptr : pointers_[slot]);
  if (kernel.takes_random_state) in.push_back(memory_.data() + random_state_);
  return kernel.run(in, absl::MakeSpan(out), memory_.data() + workspace_, gpu_->stream());
}

}  // namespace hlo::exec
