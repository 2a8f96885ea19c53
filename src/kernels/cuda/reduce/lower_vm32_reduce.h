#pragma once
// Lowers reductions of rows to the 32-bit VM (vm32_reduce_body.h).

#include <optional>

#include "device/properties.h"
#include "kernels/cuda/launch/lowered_program.h"
#include "kernels/cuda/reduce/vm32_fold.h"
#include "kernels/cuda/vm/lower_vm32.h"
#include "loops/reduction.h"

namespace hlo::cuda {

// Returns the fold of a combiner that is one operation on its two operands.
std::optional<Vm32Fold> Vm32FoldOf(const loops::Reduction& reduction);
// Returns how the initial value or a result of such a fold is stored; nullopt if the kernels do not support
// the type.
std::optional<VmMemory> Vm32ScalarMemory(ElementType type);

// The program that computes the values of a reduction of rows, as its last result.
struct Vm32ReduceBody {
  VmTemplate vm;
  Vm32Template vm32;
  Vm32Fold fold;
  VmMemory init_memory, output_memory;
};
// Returns nullopt if the program does not reduce rows by a single operation, or if the 32-bit VM does not
// support its code.
std::optional<Vm32ReduceBody> LowerReduceBody(const loops::ReduceProgram& program);
// The same; also nullopt if rows are not multiples of vectors.
std::optional<LoweredProgram> LowerVm32Reduce(const loops::ReduceProgram& program,
                                              const device::DeviceProperties& device);

}  // namespace hlo::cuda
