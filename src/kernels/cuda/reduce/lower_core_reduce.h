#pragma once
// Lowers reductions of rows to the core of the VM (core_reduce_body.h).

#include <optional>

#include "device/properties.h"
#include "kernels/cuda/launch/lowered_program.h"
#include "kernels/cuda/reduce/core_fold.h"
#include "kernels/cuda/vm/lower_core.h"
#include "loops/reduction.h"

namespace hlo::cuda {

// Returns the fold of a combiner that is one operation on its two operands.
std::optional<CoreFold> CoreFoldOf(const loops::Reduction& reduction);
// Returns how the initial value or a result of such a fold is stored; nullopt if the kernels do not support
// the type.
std::optional<VmMemory> CoreScalarMemory(ElementType type);

// The program that computes the values of a reduction of rows, as its last result.
struct CoreReduceBody {
  VmTemplate vm;
  CoreTemplate core;
  CoreFold fold;
  VmMemory init_memory, output_memory;
};
// Returns nullopt if the program does not reduce rows by a single operation, or if the core does not support
// its code.
std::optional<CoreReduceBody> LowerReduceBody(const loops::ReduceProgram& program);
// The same; also nullopt if rows are not multiples of vectors.
std::optional<LoweredProgram> LowerCoreReduce(const loops::ReduceProgram& program,
                                              const device::DeviceProperties& device);

}  // namespace hlo::cuda
