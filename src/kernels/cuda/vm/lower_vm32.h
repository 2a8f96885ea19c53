#pragma once
// Translates VM programs (vm.h) to programs of the 32-bit VM (vm32.h).

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "device/properties.h"
#include "device/stream.h"
#include "kernels/cuda/vm/vm32.h"
#include "kernels/cuda/vm/vm_builder.h"

namespace hlo::cuda {

// A program without the pointers of a run.
struct Vm32Template {
  Vm32Program program = {};  // Its pointers are unset; they are those of the VM program.
  int slot_count = 0, stride_count = 0, constant_count = 0, other_count = 0;
  // `needs_all`: an instruction or access is not in the small interpreter; `needs_calls`: not even in the one
  // with functions.
  bool needs_all = false, needs_calls = false;
  bool is_narrow = false;  // No array has elements of more than 16 bits.
  std::vector<int> ends;   // The ends of the sections.
};

// Returns nullopt if the program has jumps, edges, starts that depend on the position or wide values, or if
// it exceeds a limit of the 32-bit VM. `ends` are the ends of sections, which share only pinned slots.
std::optional<Vm32Template> LowerVm32(const VmTemplate& made, absl::Span<const int> ends = {});

// The interpreter of a program, chosen by its shape. Results do not depend on the choice.
struct Vm32Choice {
  int vectors = 1;
  size_t shared_bytes = 0;
};
// Returns nullopt if the slots do not fit into shared memory.
std::optional<Vm32Choice> ChooseVm32(const Vm32Template& vm32, const device::DeviceProperties& device);

// The pointer of a dynamic start.
struct Vm32StartPointer {
  int32_t argument;
  int64_t byte_offset;
};
// Returns the pointers of the program's starts, in the order of Vm32Program::starts.
std::vector<Vm32StartPointer> Vm32StartPointers(const VmTemplate& made);
// Sets the pointer of an access, and whether it is aligned. The strides are those of a loop of `rank`
// dimensions.
void SetVm32Pointer(void* data, const int64_t* strides, int rank, Vm32Access& access);
// Sets the pointers of a run.
void SetVm32Pointers(const VmTemplate& made, void* const* pointers, Vm32Program& program);
// Launches the interpreter that `choice` and the template select, on a program with its pointers.
absl::Status LaunchVm32(const Vm32Template& vm32, const Vm32Choice& choice, const Vm32Program& program,
                        device::Stream stream);

}  // namespace hlo::cuda
