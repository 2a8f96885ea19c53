#include "plan/step_cost.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

// Bytes by buffer: the largest access to each.
using Bytes = absl::flat_hash_map<Slot, int64_t>;

void AddAccess(const Plan& plan, const loops::LoopProgram& program, const loops::Access& access,
               Bytes* bytes) {
  int64_t elements = 1;
  const auto walk = [&](absl::Span<const int64_t> dims, loops::Strides loops::Affine::*extra,
                        const loops::Strides& strides) {
    for (size_t d = 0; d < dims.size(); ++d) {
      bool moves = strides[d] != 0;
      for (const loops::RuntimeStart& start : access.starts)
        moves |= start.index.has_value() && (*start.index.*extra)[d] != 0;
      elements *= moves ? dims[d] : 1;
    }
  };
  walk(program.outer_dims(), &loops::Affine::outer, access.outer);
  walk(program.inner_dims(), &loops::Affine::inner, access.inner);
  int64_t& count = (*bytes)[access.argument];
  count =
      std::max(count, std::min(elements * ByteCount(access.type), plan.buffers[access.argument].byte_count));
}

void AddProgram(const Plan& plan, const loops::LoopProgram& program, Bytes* read, Bytes* written) {
  program.VisitAccesses([&](const loops::Access& access, bool is_store) {
    if (access.IsArray()) AddAccess(plan, program, access, is_store ? written : read);
  });
}

int64_t Sum(const Bytes& bytes) {
  int64_t sum = 0;
  for (const auto& [slot, count] : bytes) sum += count;
  return sum;
}

}  // namespace

std::string_view KernelName(const Step& step) {
  if (std::holds_alternative<TileStep>(step.what)) return "loop";
  if (std::holds_alternative<ReduceStep>(step.what)) return "reduce";
  if (std::holds_alternative<RowsStep>(step.what)) return "rows";
  if (std::holds_alternative<LoopStep>(step.what)) return "while";
  if (std::holds_alternative<BranchStep>(step.what)) return "conditional";
  if (const auto* kernel = std::get_if<KernelStep>(&step.what)) return kernel->kernel.name;
  if (std::holds_alternative<ProductStep>(step.what)) return Name(step.instruction->opcode());
  return "reference";
}

Cost StepCost(const Plan& plan, const Step& step) {
  Cost cost;
  if (std::holds_alternative<LoopStep>(step.what) || std::holds_alternative<BranchStep>(step.what))
    return cost;
  cost = InstructionCost(*step.instruction);
  for (const Instruction* instruction : step.fused) cost += InstructionCost(*instruction);
  Bytes read, written;
  if (const auto* tiles = std::get_if<TileStep>(&step.what)) {
    for (const loops::LoopProgram& program : tiles->programs) AddProgram(plan, program, &read, &written);
  } else if (const auto* reduce = std::get_if<ReduceStep>(&step.what)) {
    AddProgram(plan, reduce->program.body, &read, &written);
    for (const auto& result : reduce->program.results)
      written[result.output] = plan.buffers[result.output].byte_count;
  } else if (const auto* rows = std::get_if<RowsStep>(&step.what)) {
    for (const Slot slot : rows->operands) read[slot] = plan.buffers[slot].byte_count;
    for (const Slot slot : rows->results) written[slot] = plan.buffers[slot].byte_count;
  } else if (const auto* product = std::get_if<ProductStep>(&step.what)) {
    for (const Slot slot : product->operands) {
      if (slot >= 0) read[slot] = plan.buffers[slot].byte_count;
    }
    for (const Slot slot : product->results) written[slot] = plan.buffers[slot].byte_count;
  } else {
    return cost;
  }
  cost.bytes_read = Sum(read);
  cost.bytes_written = Sum(written);
  return cost;
}

}  // namespace hlo::plan
