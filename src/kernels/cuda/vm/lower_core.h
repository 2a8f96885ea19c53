#pragma once
// Translates VM programs (vm.h) to programs of the core (core_vm.h).

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "device/properties.h"
#include "device/stream.h"
#include "kernels/cuda/vm/core_vm.h"
#include "kernels/cuda/vm/vm_builder.h"

namespace hlo::cuda {

struct CoreTemplate {
  CoreProgram program = {};  // Its pointers are unset; they are those of the VM program.
  int slot_count = 0, stride_count = 0, constant_count = 0, other_count = 0;
  // `needs_all`: an instruction or access is not in the small interpreter; `needs_calls`: not even in the one
  // with functions.
  bool needs_all = false, needs_calls = false;
  bool is_narrow = false;  // No array has elements of more than 16 bits.
  std::vector<int> ends;   // The ends of the sections.
};

// Returns nullopt if the program has jumps, edges, starts that depend on the position or wide values, or if
// it exceeds a limit of the core. `ends` are the ends of sections, which share only pinned slots.
std::optional<CoreTemplate> LowerCore(const VmTemplate& made, absl::Span<const int> ends = {});

// The interpreter of a program, chosen by its shape. Results do not depend on the choice.
struct CoreChoice {
  int vectors = 1;
  size_t shared_bytes = 0;
};
// Returns nullopt if the slots do not fit into shared memory.
std::optional<CoreChoice> ChooseCore(const CoreTemplate& core, const device::DeviceProperties& device);

// The pointer of a dynamic start.
struct CoreStartPointer {
  int32_t argument;
  int64_t byte_offset;
};
// Returns the pointers of the program's starts.
std::vector<CoreStartPointer> CoreStartPointers(const VmTemplate& made);
// Sets the pointer of an access, and whether it is aligned. The strides are those of a loop of `rank`
// dimensions.
void SetCorePointer(void* data, const int64_t* strides, int rank, CoreAccess& access);
// Sets the pointers of a run.
void SetCorePointers(const VmTemplate& made, void* const* pointers, CoreProgram& program);
absl::Status LaunchCore(const CoreTemplate& core, const CoreChoice& choice, const CoreProgram& program,
                        device::Stream stream);

}  // namespace hlo::cuda
