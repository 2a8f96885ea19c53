// CPU fallback: runs steps of a GPU plan on the CPU, on host copies of their operands and results.

#include <cstring>

#include "base/status.h"
#include "exec/gpu_executor.h"

namespace hlo::exec {

absl::StatusOr<void*> GpuExecutor::HostMemory(Slot slot) {
  if (host_[slot] == nullptr) {
    HLO_ASSIGN_OR_RETURN(host_[slot], Buffer::Allocate(plan_.buffers[slot].byte_count));
  }
  return host_[slot]->data();
}

absl::StatusOr<void*> GpuExecutor::HostCopy(Slot slot, StepState& state) {
  HLO_ASSIGN_OR_RETURN(void* memory, HostMemory(slot));
  HLO_RETURN_IF_ERROR(gpu_->ToHost(memory, pointers_[slot], plan_.buffers[slot].byte_count));
  state.bytes += plan_.buffers[slot].byte_count;
  return memory;
}

absl::Status GpuExecutor::FromHost(Slot slot, StepState& state) {
  state.bytes += plan_.buffers[slot].byte_count;
  return gpu_->ToDevice(pointers_[slot], host_[slot]->data(), plan_.buffers[slot].byte_count);
}

const plan::CpuStep& GpuExecutor::CpuCode(const plan::Step& step, StepState& state) {
  if (state.cpu == nullptr) state.cpu = std::make_unique<const plan::CpuStep>(CompileStep(plan_, step));
  return *state.cpu;
}

absl::Status GpuExecutor::RunProgramsOnCpu(const plan::Step& step, StepState& state) {
  ++state.runs;
  std::vector<bool> used(plan_.buffers.size()), written(plan_.buffers.size());
  const auto visit = [&](const loops::Access& access, bool is_store) {
    if (access.IsArray()) used[access.argument] = true;
    if (is_store) written[access.argument] = true;
    VisitOthers(access, [&](int32_t argument) { used[argument] = true; });
  };
  const auto* tiles = std::get_if<plan::TileStep>(&step.what);
  const auto* reduce = std::get_if<plan::ReduceStep>(&step.what);
  if (tiles != nullptr) {
    for (const loops::LoopProgram& program : tiles->programs) program.VisitAccesses(visit);
  } else {
    reduce->program.body.VisitAccesses(visit);
    for (const loops::Reduction::Result& result : reduce->program.results) {
      used[result.init] = used[result.output] = written[result.output] = true;
    }
  }
  std::vector<void*> pointers(plan_.buffers.size());
  for (size_t slot = 0; slot < used.size(); ++slot) {
    if (!used[slot]) continue;
    HLO_ASSIGN_OR_RETURN(pointers[slot], HostCopy(static_cast<Slot>(slot), state));
  }
  const plan::CpuStep& code = CpuCode(step, state);
  if (const auto* programs = std::get_if<std::vector<cpu::TileProgram>>(&code)) {
    for (const cpu::TileProgram& program : *programs) program.Run(pointers.data());
  } else {
    std::get<cpu::ReduceProgram>(code).Run(pointers.data());
  }
  for (size_t slot = 0; slot < used.size(); ++slot) {
    if (written[slot]) HLO_RETURN_IF_ERROR(FromHost(static_cast<Slot>(slot), state));
  }
  return absl::OkStatus();
}

absl::Status GpuExecutor::RunKernelOnCpu(const plan::Step& step, const plan::KernelStep& kernel,
                                         StepState& state) {
  ++state.runs;
  absl::InlinedVector<const void*, 8> operands;
  absl::InlinedVector<void*, 8> results;
  for (const Slot slot : kernel.operands) {
    operands.push_back(nullptr);
    if (slot < 0) continue;
    HLO_ASSIGN_OR_RETURN(operands.back(), HostCopy(slot, state));
  }
  for (const Slot slot : kernel.results) {
    results.push_back(nullptr);
    if (slot < 0) continue;
    HLO_ASSIGN_OR_RETURN(results.back(), HostMemory(slot));
  }
  const auto& run = std::get<plan::KernelFn>(CpuCode(step, state));
  const absl::Status status = run(*step.instruction, operands, absl::MakeSpan(results));
  if (absl::IsUnimplemented(status)) {
    --state.runs;
    return RunReference(*step.instruction, kernel.operands, kernel.results, state);
  }
  HLO_RETURN_IF_ERROR(status);
  for (const Slot slot : kernel.results) {
    if (slot >= 0) HLO_RETURN_IF_ERROR(FromHost(slot, state));
  }
  return absl::OkStatus();
}

absl::StatusOr<Literal> GpuExecutor::OperandLeaf(Slot slot, const Shape& shape) {
  if (plan_.IsLiteral(slot)) return literals_[slot];
  HLO_ASSIGN_OR_RETURN(Literal copy, Literal::Create(shape));
  HLO_RETURN_IF_ERROR(gpu_->ToHost(copy.mutable_data(), pointers_[slot], copy.byte_count()));
  copied_bytes_ += copy.byte_count();
  return copy;
}

absl::Status GpuExecutor::StoreLeaf(const Literal& value, Slot slot) {
  if (plan_.IsLiteral(slot)) return StoreLiteral(value, slot);
  HLO_RETURN_IF_ERROR(CheckSize(value, plan_.buffers[slot]));
  copied_bytes_ += value.byte_count();
  return gpu_->ToDevice(pointers_[slot], value.data(), value.byte_count());
}

absl::Status GpuExecutor::RunReference(const Instruction& instruction, absl::Span<const Slot> operands,
                                       absl::Span<const Slot> results, StepState& state) {
  ++state.runs;
  copied_bytes_ = 0;
  absl::Status status = CallReference(instruction, operands, results);
  state.bytes += copied_bytes_;
  return status;
}

}  // namespace hlo::exec
