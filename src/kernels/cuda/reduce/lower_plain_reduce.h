#pragma once
// Lowers reductions of an array by one operation to the kernels of reduce_body.h.

#include <optional>

#include "kernels/cuda/launch/lowered_program.h"
#include "loops/reduction.h"

namespace hlo::cuda {

// Returns nullopt for other reductions, which run on the VM (lower_reduce.h).
std::optional<LoweredProgram> LowerPlainReduce(const loops::ReduceProgram& program);

}  // namespace hlo::cuda
