#pragma once
// Tile programs (kernels/cpu/tile_program.h) as programs of the GPU's machine for elementwise code (vm.h).

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "device/properties.h"
#include "device/stream.h"
#include "kernels/cpu/reduce_program.h"
#include "kernels/cpu/tile_program.h"
#include "kernels/cuda/vm_builder.h"

namespace hlo::cuda {

struct LoweredProgram {
  std::string name;
  // `pointers` are device memory, numbered as the tile program's arguments. Enqueues on the stream.
  std::function<absl::Status(void* const* pointers, void* workspace, device::Stream stream)> run;
  int64_t workspace_bytes = 0;
};

// Unimplemented, and why: the CPU runs it.
absl::StatusOr<LoweredProgram> LowerTile(const cpu::TileProgram& program,
                                         const device::DeviceProperties& device);

// The values that a tile program yields, appended.
absl::StatusOr<std::vector<VmBuilder::Value>> LowerSteps(const cpu::TileProgram& program, VmBuilder& builder);
// The values that tile code yields for these inputs, appended.
absl::StatusOr<std::vector<VmBuilder::Value>> LowerCode(const cpu::TileCode& code,
                                                        absl::Span<const VmBuilder::Value> inputs,
                                                        VmBuilder& builder);
// The loop of a tile program: its outer and its inner dimensions.
std::vector<int64_t> DimsOf(const cpu::TileProgram& program);
// Fills in the pointers of a run.
void SetPointers(const VmTemplate& made, void* const* pointers, VmProgram& program);
// Bytes of shared memory for a block; Unimplemented where the device has not so many.
absl::StatusOr<size_t> SharedBytesOf(const VmTemplate& made, int values,
                                     const device::DeviceProperties& device);

}  // namespace hlo::cuda
