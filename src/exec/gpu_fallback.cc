// CPU fallback: runs steps of a GPU plan on the CPU, on host copies of their operands and results.

#include <cstring>

#include "base/status.h"
#include "exec/gpu_executor.h"
#include "fmt/format.h"
#include "reference/apply.h"
#include "reference/op.h"
#include "reference/program.h"
#include "reference/supported.h"

namespace hlo::exec {

using plan::Slot;

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

absl::Status GpuExecutor::RunProgramsOnCpu(const plan::Step& step, StepState& state) {
  ++state.runs;
  std::vector<bool> used(plan_.buffers.size()), written(plan_.buffers.size());
  const auto visit = [&](const cpu::Access& access, bool is_store) {
    if (access.IsArray()) used[access.argument] = true;
    if (is_store) written[access.argument] = true;
    VisitOthers(access, [&](int32_t argument) { used[argument] = true; });
  };
  const auto* tiles = std::get_if<plan::TileStep>(&step.what);
  const auto* reduce = std::get_if<plan::ReduceStep>(&step.what);
  if (tiles != nullptr) {
    for (const cpu::TileProgram& program : tiles->programs) program.VisitAccesses(visit);
  } else {
    reduce->program.body.VisitAccesses(visit);
    for (const cpu::ReduceProgram::Result& result : reduce->program.results) {
      used[result.init] = used[result.output] = written[result.output] = true;
    }
  }
  std::vector<void*> pointers(plan_.buffers.size());
  for (size_t slot = 0; slot < used.size(); ++slot) {
    if (!used[slot]) continue;
    HLO_ASSIGN_OR_RETURN(pointers[slot], HostCopy(static_cast<Slot>(slot), state));
  }
  if (tiles != nullptr) {
    for (const cpu::TileProgram& program : tiles->programs) program.Run(pointers.data());
  } else {
    reduce->program.Run(pointers.data());
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
  const absl::Status status = kernel.kernel.run(*step.instruction, operands, absl::MakeSpan(results));
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

absl::StatusOr<Literal> GpuExecutor::OperandLiteral(const Shape& shape, absl::Span<const Slot> slots,
                                                    size_t* leaf, StepState& state) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (const Shape& element : shape.elements()) {
      HLO_ASSIGN_OR_RETURN(Literal value, OperandLiteral(element, slots, leaf, state));
      elements.push_back(std::move(value));
    }
    return Literal::Tuple(std::move(elements));
  }
  const Slot slot = slots[(*leaf)++];
  if (slot < 0) return Literal::Token();
  HLO_ASSIGN_OR_RETURN(Literal copy, Literal::Create(shape));
  HLO_RETURN_IF_ERROR(gpu_->ToHost(copy.mutable_data(), pointers_[slot], copy.byte_count()));
  state.bytes += copy.byte_count();
  return copy;
}

absl::Status GpuExecutor::StoreResult(const Literal& value, absl::Span<const Slot> slots, size_t* leaf,
                                      StepState& state) {
  if (value.shape().IsTuple()) {
    for (const Literal& element : value.elements())
      HLO_RETURN_IF_ERROR(StoreResult(element, slots, leaf, state));
    return absl::OkStatus();
  }
  const Slot slot = slots[(*leaf)++];
  if (slot < 0) return absl::OkStatus();
  if (value.byte_count() != plan_.buffers[slot].byte_count) {
    return absl::InternalError(
        fmt::format("the value is {}, which is not the declared shape", ToString(value.shape())));
  }
  state.bytes += value.byte_count();
  return gpu_->ToDevice(pointers_[slot], value.data(), value.byte_count());
}

absl::Status GpuExecutor::RunReference(const Instruction& instruction, absl::Span<const Slot> operand_slots,
                                       absl::Span<const Slot> result_slots, StepState& state) {
  ++state.runs;
  if (evaluator_ == nullptr) {
    int64_t depth = 0;
    evaluator_ = std::make_unique<reference::Evaluator>(
        reference::CalledFrom(*module_.module().entry(), &depth), *options_);
  }
  std::vector<Literal> operands;
  size_t leaf = 0;
  for (const Instruction* operand : instruction.operands()) {
    HLO_ASSIGN_OR_RETURN(Literal value, OperandLiteral(operand->shape(), operand_slots, &leaf, state));
    operands.push_back(std::move(value));
  }
  reference::OpContext context{instruction, absl::MakeSpan(operands), *evaluator_};
  HLO_ASSIGN_OR_RETURN(const Literal value,
                       reference::Apply(context, reference::Reference(instruction.opcode())));
  leaf = 0;
  return StoreResult(value, result_slots, &leaf, state);
}

}  // namespace hlo::exec
