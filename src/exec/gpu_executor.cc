#include "exec/gpu_executor.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/deadline.h"
#include "base/status.h"
#include "device/copy.h"
#include "kernels/cuda/launch/run_state.h"
#include "plan/visit.h"

namespace hlo::exec {

GpuExecutor::GpuExecutor(const CheckedModule& module, const plan::Plan& plan,
                         std::shared_ptr<device::Gpu> gpu, plan::GpuPlan gpu_plan,
                         std::shared_ptr<const reference::Programs> programs)
    : StepRunner(module, plan, std::move(programs)),
      gpu_(std::move(gpu)),
      gpu_plan_(std::move(gpu_plan)),
      exchange_(gpu_) {
  for (const auto& [step, lowered] : gpu_plan_.steps)
    states_[step] = {.gpu = &lowered, .reason = lowered.reason};
}

std::unique_ptr<GpuEngine> GpuExecutor::ForDevice(std::shared_ptr<device::Gpu> gpu,
                                                  std::shared_ptr<const reference::Programs> programs) const {
  // Kernels hold tables in the memory of their GPU.
  plan::GpuPlan copy = gpu->properties().number == gpu_->properties().number
                           ? gpu_plan_
                           : plan::MakeGpuPlan(plan_, gpu->properties());
  return std::make_unique<GpuExecutor>(module_, plan_, std::move(gpu), std::move(copy), std::move(programs));
}

std::vector<Fallback> GpuExecutor::fallbacks() const {
  std::vector<Fallback> found;
  VisitStepLists(plan_.steps, [&](const std::vector<plan::Step>& steps) {
    for (const plan::Step& step : steps) {
      const StepState& state = states_.at(&step);
      if (state.runs > 0) found.push_back({&step.shown(), state.reason, state.runs, state.bytes});
    }
  });
  return found;
}

absl::StatusOr<Literal> GpuExecutor::Run(std::vector<Literal> arguments, const EvaluateOptions& options,
                                         absl::Span<const std::unique_ptr<GpuEngine>> peers) {
  const std::lock_guard in_use(gpu_->in_use());
  Start(options);
  peers_ = peers;
  HLO_RETURN_IF_ERROR(gpu_->MakeCurrent());
  HLO_RETURN_IF_ERROR(Allocate());
  HLO_RETURN_IF_ERROR(Bind(std::move(arguments)));
  if (gpu_plan_.needs_run_state) {
    cuda::RunState state{options.seed, reference::Evaluator::kFirstCounter[0],
                         reference::Evaluator::kFirstCounter[1]};
    if (const spmd::Collectives* link = options.collectives; link != nullptr) {
      state.replica = static_cast<uint32_t>(link->grid().replica(link->device()));
      state.partition = static_cast<uint32_t>(link->grid().partition(link->device()));
    }
    HLO_RETURN_IF_ERROR(gpu_->ToDevice(memory_.data() + gpu_plan_.run_state, &state, sizeof state));
  }
  HLO_RETURN_IF_ERROR(RunPlan());
  absl::StatusOr<Literal> result = AssembleResult();
  argument_memory_.clear();
  literals_.clear();
  return result;
}

// Peers, limits and observers need the host between steps. A flag that cancels the run is read before the
// graph starts.
bool GpuExecutor::IsReplayable() const {
  return gpu_plan_.is_capturable && !cannot_capture_ && peers_.empty() && !IsWatched();
}

// The second run with the same pointers captures the steps as a graph, which it and later runs start. The
// first run has loaded the kernels, which is not possible during capture.
absl::Status GpuExecutor::RunPlan() {
  if (!IsReplayable()) return RunSteps(plan_.steps);
  if (last_pointers_ != pointers_) {
    graph_ = nullptr;
    last_pointers_ = pointers_;
    return RunSteps(plan_.steps);
  }
  if (graph_ == nullptr) {
    absl::StatusOr<std::unique_ptr<device::GpuGraph>> captured = gpu_->Capture([this] {
      is_capturing_ = true;
      absl::Status status = RunSteps(plan_.steps);
      is_capturing_ = false;
      return status;
    });
    if (!captured.ok()) {
      if (!absl::IsUnimplemented(captured.status())) return captured.status();
      cannot_capture_ = true;
      return RunSteps(plan_.steps);
    }
    graph_ = *std::move(captured);
  }
  HLO_RETURN_IF_ERROR(Deadline::Check());
  return graph_->Run();
}

absl::Status GpuExecutor::Allocate() {
  if (memory_.data() != nullptr) return absl::OkStatus();
  HLO_ASSIGN_OR_RETURN(void* memory, gpu_->Allocate(gpu_plan_.byte_count, "the buffers of the plan"));
  memory_ = device::GpuMemory(*gpu_, memory);
  result_memory_.resize(plan_.buffers.size());
  uploaded_.resize(plan_.buffers.size());
  host_.resize(plan_.buffers.size());
  for (size_t slot = 0; slot < gpu_plan_.offsets.size(); ++slot) {
    const plan::Buffer& buffer = plan_.buffers[slot];
    if (buffer.kind != plan::Buffer::Kind::kConstant) continue;
    HLO_RETURN_IF_ERROR(
        gpu_->ToDevice(memory_.data() + gpu_plan_.offsets[slot], buffer.constant->data(), buffer.byte_count));
  }
  return absl::OkStatus();
}

// Donates the device copies of arguments that nobody else holds to the results that may alias them.
absl::Status GpuExecutor::Bind(std::vector<Literal> arguments) {
  const std::vector<const Literal*> leaves = Leaves(arguments);
  pointers_.resize(plan_.buffers.size());
  argument_memory_.assign(plan_.buffers.size(), nullptr);
  std::vector<bool> is_donated(plan_.buffers.size());
  BindLiterals(leaves);
  for (size_t slot = 0; slot < pointers_.size(); ++slot) {
    const plan::Buffer& buffer = plan_.buffers[slot];
    pointers_[slot] = gpu_plan_.offsets[slot] < 0 ? nullptr : memory_.data() + gpu_plan_.offsets[slot];
    if (buffer.kind != plan::Buffer::Kind::kParameter) continue;
    const std::shared_ptr<Buffer>& argument = leaves[buffer.parameter]->buffer();
    // A host buffer that the executor holds does not change, so its device copy of the previous run is still
    // valid.
    const bool is_uploaded = uploaded_[slot] == argument;
    is_donated[slot] = argument.use_count() == (is_uploaded ? 2 : 1);
    if (!is_uploaded)
      HLO_RETURN_IF_ERROR(gpu_->ToDevice(pointers_[slot], argument->data(), buffer.byte_count));
    uploaded_[slot] = is_donated[slot] ? nullptr : argument;
    argument_memory_[slot] = argument;
  }
  for (size_t slot = 0; slot < pointers_.size(); ++slot) {
    const Slot donor = plan_.buffers[slot].donor;
    if (donor < 0) continue;
    if (is_donated[donor]) {
      pointers_[slot] = pointers_[donor];
      argument_memory_[slot] = std::move(argument_memory_[donor]);
      continue;
    }
    if (result_memory_[slot].data() == nullptr) {
      HLO_ASSIGN_OR_RETURN(void* memory, gpu_->Allocate(plan_.buffers[slot].byte_count, "a result"));
      result_memory_[slot] = device::GpuMemory(*gpu_, memory);
    }
    pointers_[slot] = result_memory_[slot].data();
  }
  return absl::OkStatus();
}

absl::StatusOr<Literal> GpuExecutor::ResultLeaf(size_t leaf) {
  const Slot slot = plan_.results[leaf];
  if (slot < 0) return Literal::Token();
  if (plan_.IsLiteral(slot)) return literals_[slot];
  const plan::Buffer& buffer = plan_.buffers[slot];
  std::shared_ptr<Buffer> memory = std::move(argument_memory_[slot]);
  if (buffer.kind == plan::Buffer::Kind::kParameter) {
    argument_memory_[slot] = memory;
  } else {
    if (memory == nullptr) {
      HLO_ASSIGN_OR_RETURN(memory, Buffer::Allocate(buffer.byte_count));
    }
    HLO_RETURN_IF_ERROR(gpu_->ToHost(memory->data(), pointers_[slot], buffer.byte_count));
  }
  return Literal::FromBuffer(plan_.result_shapes[leaf], std::move(memory));
}

// True if the step has a kernel that may run. With limits, kernels that contain loops of the module may not
// run, because they do not count iterations.
bool GpuExecutor::CanRunKernel(StepState& state) const {
  if (!state.gpu->kernel.has_value() || !state.gpu->kernel->may_loop || !IsLimited())
    return state.gpu->kernel.has_value();
  state.reason = "loops of elements under a limit of steps or time";
  return false;
}

bool GpuExecutor::IsLimited() const { return options_->max_steps > 0 || options_->max_seconds > 0; }

// True if observers or limits need the host between steps, also within loops.
bool GpuExecutor::IsWatched() const { return IsLimited() || IsObserved(); }

std::optional<absl::Status> GpuExecutor::RunFusedSteps(const plan::Step& step) {
  const plan::FusedSteps* fused = states_.at(&step).gpu->fused_steps.get();
  if (fused == nullptr || IsWatched()) return std::nullopt;
  if (&step != fused->first) return absl::OkStatus();
  return fused->program.run(pointers_.data(), memory_.data() + gpu_plan_.workspace, gpu_->stream());
}

absl::Status GpuExecutor::RunKernels(const plan::Step& step) {
  StepState& state = states_.at(&step);
  if (std::exchange(state.is_done, false)) return absl::OkStatus();
  if (const plan::FusedRows* rows = state.gpu->fused_rows.get(); rows != nullptr && RunsAsRows(*rows, step)) {
    if (&step != rows->members.back()) return absl::OkStatus();
    return rows->program.run(pointers_.data(), memory_.data() + gpu_plan_.workspace, gpu_->stream());
  }
  if (!state.gpu->programs.empty()) {
    const auto* tiles = std::get_if<plan::TileStep>(&step.what);
    const bool in_place =
        tiles != nullptr && tiles->updated >= 0 && pointers_[tiles->updated] == pointers_[tiles->result];
    for (size_t p = in_place ? 1 : 0; p < state.gpu->programs.size(); ++p) {
      HLO_RETURN_IF_ERROR(
          state.gpu->programs[p].run(pointers_.data(), memory_.data() + gpu_plan_.workspace, gpu_->stream()));
    }
    return absl::OkStatus();
  }
  if (const auto* kernel = std::get_if<plan::KernelStep>(&step.what)) {
    const std::optional<plan::GpuStep::WithEpilogue>& fused = state.gpu->with_epilogue;
    if (fused.has_value()) {
      // A run that failed may have left it true.
      bool& is_done = states_.at(fused->loop).is_done;
      is_done = !OverwritesOperands(*kernel, fused->result);
      if (is_done) return RunKernel(fused->operands, {fused->result}, fused->kernel);
    }
    if (CanRunKernel(state)) return RunKernel(kernel->operands, kernel->results, *state.gpu->kernel);
    return RunKernelOnCpu(step, *kernel, state);
  }
  if (const auto* reference = std::get_if<plan::ReferenceStep>(&step.what)) {
    if (UsesPeers(*state.gpu)) return ExchangeWithPeers(step, *reference);
    if (CanRunKernel(state)) return RunKernel(reference->operands, reference->results, *state.gpu->kernel);
    return RunReference(*step.instruction, reference->operands, reference->results, state);
  }
  return RunProgramsOnCpu(step, state);
}

absl::Status GpuExecutor::ExchangeWithPeers(const plan::Step& step, const plan::ReferenceStep& collective) {
  const plan::PeerCollective& peers = *states_.at(&step).gpu->peer_collective;
  const size_t count = collective.operands.size(), first = peers.returns_operands ? count : 0;
  const auto peer = [&](int64_t device) -> GpuExchange& {
    return static_cast<GpuExecutor&>(*peers_[device]).exchange_;
  };
  GpuExchange::Call call = {*step.instruction, peers.kind, *options_->collectives, {}, {}, {}, peer};
  const auto memory_of = [&](Slot slot) { return slot < 0 ? nullptr : pointers_[slot]; };
  for (const Slot slot : collective.operands) call.operands.push_back(memory_of(slot));
  if (plan::IsTransfer(peers.kind)) {
    for (const Slot slot : collective.results) call.results.push_back(memory_of(slot));
    return exchange_.Run(std::move(call));
  }
  for (size_t leaf = 0; leaf < collective.results.size(); ++leaf) {
    const Slot slot = collective.results[leaf];
    if (leaf >= first && leaf < first + count) {
      call.results.push_back(memory_of(slot));
      call.result_bytes.push_back(slot < 0 ? 0 : plan_.buffers[slot].byte_count);
    } else if (slot >= 0) {
      const int64_t byte_count = plan_.buffers[slot].byte_count;
      HLO_RETURN_IF_ERROR(leaf < first
                              ? device::CopyOnDevice(pointers_[slot], pointers_[collective.operands[leaf]],
                                                     byte_count, gpu_->stream())
                              : device::FillOnDevice(pointers_[slot], 0, byte_count, gpu_->stream()));
    }
  }
  return exchange_.Run(std::move(call));
}

absl::Status GpuExecutor::RunKernel(absl::Span<const Slot> operands, absl::Span<const Slot> results,
                                    const cuda::CudaKernel& kernel) {
  absl::InlinedVector<const void*, 8> in;
  absl::InlinedVector<void*, 8> out;
  for (const Slot slot : operands) in.push_back(slot < 0 ? nullptr : pointers_[slot]);
  for (const Slot slot : results) out.push_back(slot < 0 ? nullptr : pointers_[slot]);
  if (kernel.needs_run_state) in.push_back(memory_.data() + gpu_plan_.run_state);
  return kernel.run(in, absl::MakeSpan(out), memory_.data() + gpu_plan_.workspace, gpu_->stream());
}

// True if the memory of fused steps allows one launch for all of them. It does not change between them, so it
// is checked before the first one.
bool GpuExecutor::RunsAsRows(const plan::FusedRows& rows, const plan::Step& member) {
  if (&member != rows.members.front()) return runs_as_rows_;
  return runs_as_rows_ = std::all_of(rows.overlaps.begin(), rows.overlaps.end(), [&](const auto& pair) {
           const auto* other = static_cast<const std::byte*>(pointers_[pair.other]);
           const auto* written = static_cast<const std::byte*>(pointers_[pair.written]);
           return other + plan_.buffers[pair.other].byte_count <= written ||
                  written + plan_.buffers[pair.written].byte_count <= other ||
                  (pair.may_coincide && other == written);
         });
}

// True if the loop's result overlaps operands of the product, for which it is their last use.
bool GpuExecutor::OverwritesOperands(const plan::KernelStep& product, Slot result) const {
  const auto* begin = static_cast<const std::byte*>(pointers_[result]);
  const std::byte* end = begin + plan_.buffers[result].byte_count;
  return std::any_of(product.operands.begin(), product.operands.end(), [&](Slot slot) {
    const auto* at = static_cast<const std::byte*>(pointers_[slot]);
    return at < end && begin < at + plan_.buffers[slot].byte_count;
  });
}

}  // namespace hlo::exec
