#pragma once
// Lowers reductions of rows to the core of the VM (core_reduce_body.h).

#include <optional>

#include "device/properties.h"
#include "kernels/cuda/launch/lowered_program.h"
#include "loops/reduction.h"

namespace hlo::cuda {

// Returns nullopt if the reduction is not one of rows by a single operation, or its code is not one for the
// core.
std::optional<LoweredProgram> LowerCoreReduce(const loops::ReduceProgram& program,
                                              const device::DeviceProperties& device);

}  // namespace hlo::cuda
