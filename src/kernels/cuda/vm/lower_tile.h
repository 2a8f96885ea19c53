#pragma once
// Lowers tile programs (kernels/cpu/loops/tile_program.h) to VM programs (vm.h).

#include <vector>

#include "absl/status/statusor.h"
#include "device/properties.h"
#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cuda/launch/lowered_program.h"
#include "kernels/cuda/vm/vm_builder.h"

namespace hlo::cuda {

// Returns Unimplemented with a reason if the program must run on the CPU.
absl::StatusOr<LoweredProgram> LowerTile(const cpu::TileProgram& program,
                                         const device::DeviceProperties& device);

// Appends the steps of a tile program to the builder. Returns the values that it yields.
absl::StatusOr<std::vector<VmBuilder::Value>> LowerSteps(const cpu::TileProgram& program, VmBuilder& builder);
// Appends tile code to the builder. Returns the values that it yields for `inputs`.
absl::StatusOr<std::vector<VmBuilder::Value>> LowerCode(const cpu::TileCode& code,
                                                        absl::Span<const VmBuilder::Value> inputs,
                                                        VmBuilder& builder);
// Returns the iteration space of a tile program: outer, then inner dimensions.
std::vector<int64_t> DimsOf(const cpu::TileProgram& program);
// Sets the pointers of a run.
void SetPointers(const VmTemplate& made, void* const* pointers, VmProgram& program);
// Returns the bytes of shared memory per thread block; Unimplemented if the device has less.
absl::StatusOr<size_t> SharedBytesOf(const VmTemplate& made, int values,
                                     const device::DeviceProperties& device);

}  // namespace hlo::cuda
