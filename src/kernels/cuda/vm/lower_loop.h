#pragma once
// Lowers loop programs to VM programs (vm.h).

#include <vector>

#include "absl/status/statusor.h"
#include "device/properties.h"
#include "kernels/cuda/launch/lowered_program.h"
#include "kernels/cuda/vm/vm_builder.h"
#include "loops/loop_program.h"
#include "loops/scalar_function.h"

namespace hlo::cuda {

// Returns Unimplemented with a reason if the program must run on the CPU.
absl::StatusOr<LoweredProgram> LowerLoop(const loops::LoopProgram& program,
                                         const device::DeviceProperties& device);

// Appends the steps of a loop program to the builder. Returns the values that it yields.
absl::StatusOr<std::vector<VmBuilder::Value>> LowerSteps(const loops::LoopProgram& program,
                                                         VmBuilder& builder);
// Appends a scalar function to the builder. Returns the values that it yields for `inputs`.
absl::StatusOr<std::vector<VmBuilder::Value>> LowerCode(const loops::ScalarFunction& code,
                                                        absl::Span<const VmBuilder::Value> inputs,
                                                        VmBuilder& builder);
// Returns the iteration space of a loop program: outer, then inner dimensions.
std::vector<int64_t> DimsOf(const loops::LoopProgram& program);
// Sets the pointers of a run.
void SetPointers(const VmTemplate& made, void* const* pointers, VmProgram& program);
// Returns the bytes of shared memory per thread block; Unimplemented if the device has less.
absl::StatusOr<size_t> SharedBytesOf(const VmTemplate& made, int values,
                                     const device::DeviceProperties& device);

}  // namespace hlo::cuda
