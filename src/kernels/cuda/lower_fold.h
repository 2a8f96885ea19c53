#pragma once
// Reductions of an array's own elements by one operation, as kernels of fold_body.h.

#include <optional>

#include "kernels/cpu/reduce_program.h"
#include "kernels/cuda/lower_tile.h"

namespace hlo::cuda {

// nullopt: it is more than that, and the machine's (lower_reduce.h).
std::optional<LoweredProgram> LowerFold(const cpu::ReduceProgram& program);

}  // namespace hlo::cuda
