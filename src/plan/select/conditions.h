#pragma once
// The functions of the column `condition` of kernels.def. An instruction has one of its row's kernels only if
// the condition holds; a kernel may need more, such as sizes that the device supports.

#include "hlo_run/module.h"

namespace hlo::plan {

#define HLO_KERNEL(opcode, cpu, scratch, gpu, combiner, condition) \
  bool condition(const Instruction& instruction);
#include "kernels/kernels.def"

}  // namespace hlo::plan
