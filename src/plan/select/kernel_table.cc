#include "plan/select/kernel_table.h"

#include "plan/select/conditions.h"

namespace hlo::plan {
namespace {

constexpr KernelRow kRows[] = {
#define HLO_KERNEL(opcode, cpu, scratch, gpu, combiner, condition) \
  {Opcode::k##opcode, #cpu, #gpu, #combiner, #condition, &condition},
#include "kernels/kernels.def"
};

}  // namespace

absl::Span<const KernelRow> KernelTable() { return kRows; }

}  // namespace hlo::plan
