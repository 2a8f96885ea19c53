#pragma once
// Lowers reductions of rows to the core of the VM (core_reduce_body.h).

#include <optional>

#include "device/properties.h"
#include "kernels/cuda/launch/lowered_program.h"
#include "kernels/cuda/reduce/core_fold.h"
#include "kernels/cuda/vm/vm.h"
#include "loops/reduction.h"

namespace hlo::cuda {

// Returns the fold of a combiner that is one operation on its two operands.
std::optional<CoreFold> CoreFoldOf(const loops::Reduction& reduction);
// Returns how the initial value or a result of such a fold is stored; nullopt: not by these kernels.
std::optional<VmMemory> CoreScalarMemory(ElementType type);

// Returns nullopt if the program does not reduce rows by a single operation, or if the core does not support
// its code.
std::optional<LoweredProgram> LowerCoreReduce(const loops::ReduceProgram& program,
                                              const device::DeviceProperties& device);

}  // namespace hlo::cuda
