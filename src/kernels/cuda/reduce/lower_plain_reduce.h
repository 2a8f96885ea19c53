#pragma once
// Lowers reductions of an array by one operation to the kernels of reduce_body.h.

#include <optional>

#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cuda/launch/lowered_program.h"

namespace hlo::cuda {

// Returns nullopt for other reductions, which run on the VM (lower_reduce.h).
std::optional<LoweredProgram> LowerPlainReduce(const cpu::ReduceProgram& program);

}  // namespace hlo::cuda
