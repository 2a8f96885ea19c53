#include "plan/library_kernels.h"

#include "base/status.h"
#include "kernels/cpu/dot_general.h"
#include "plan/sort_step.h"

namespace hlo::plan {
namespace {

cpu::DenseArray Dense(const Shape& shape, const void* data) { return {data, shape.type(), shape.dims()}; }

bool TakesDot(const Instruction& dot) {
  return dot.operand_count() == 2 && cpu::GemmSupports(dot.operand(0)->shape().type(),
                                                       dot.operand(1)->shape().type(), dot.shape().type());
}

absl::Status RunDot(const Instruction& dot, absl::Span<const void* const> operands,
                    absl::Span<void* const> results) {
  cpu::DotGeneral(Dense(dot.operand(0)->shape(), operands[0]),
                  {dot.Get<attr::lhs_batch_dims>(), dot.Get<attr::lhs_contracting_dims>()},
                  Dense(dot.operand(1)->shape(), operands[1]),
                  {dot.Get<attr::rhs_batch_dims>(), dot.Get<attr::rhs_contracting_dims>()}, results[0],
                  dot.shape().type());
  return absl::OkStatus();
}

absl::Status RunSortByKey(const Instruction& sort, absl::Span<const void* const> operands,
                          absl::Span<void* const> results) {
  return RunSort(sort, *FindSortKey(sort), operands, results);
}

}  // namespace

LibraryKernel FindLibraryKernel(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kDot:
      if (TakesDot(instruction)) return {"dot", &RunDot};
      break;
    case Opcode::kSort:
      if (FindSortKey(instruction).has_value()) return {"sort", &RunSortByKey};
      break;
    default:
      break;
  }
  return {};
}

}  // namespace hlo::plan
