#pragma once
// Tile programs (kernels/cpu/tile_program.h) as programs of the GPU's machine for elementwise code
// (tile_vm.h).

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "device/properties.h"
#include "device/stream.h"
#include "kernels/cpu/tile_program.h"

namespace hlo::cuda {

struct LoweredProgram {
  std::string name;
  // `pointers` are device memory, numbered as the tile program's arguments. Enqueues on the stream.
  std::function<absl::Status(void* const* pointers, device::Stream stream)> run;
};

// Unimplemented, and why: the CPU runs it.
absl::StatusOr<LoweredProgram> LowerTile(const cpu::TileProgram& program,
                                         const device::DeviceProperties& device);

}  // namespace hlo::cuda
