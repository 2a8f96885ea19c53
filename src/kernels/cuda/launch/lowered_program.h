#pragma once
// A loop program or a reduction as a kernel.

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "device/stream.h"

namespace hlo::cuda {

struct LoweredProgram {
  std::string name;
  // Enqueues the program on the stream. `pointers` is device memory, indexed by the loop program's arguments.
  std::function<absl::Status(void* const* pointers, void* workspace, device::Stream stream)> run;
  int64_t workspace_bytes = 0;
};

}  // namespace hlo::cuda
