#pragma once
// The functions of the column `condition` of kernels.def. An instruction has one of its row's kernels only if
// the condition holds; a kernel may need more, such as sizes that the device supports.

#include <string_view>

#include "hlo_run/module.h"

namespace hlo::plan {

inline constexpr std::string_view kCsrProductTarget = "cpu_csr_sparse_dense_ffi";

#define HLO_KERNEL(opcode, cpu, scratch, gpu, combiner, condition) \
  bool condition(const Instruction& instruction);
#include "kernels/kernels.def"

}  // namespace hlo::plan
