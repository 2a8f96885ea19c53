#pragma once
// Threads that run devices.

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace hlo::spmd {

// Calls body(device) for every device on a thread of its own and waits for all. If the system starts no more
// threads, calls `refused` for the devices that are left.
void RunOnThreads(int64_t count, absl::FunctionRef<void(int64_t)> body,
                  absl::FunctionRef<void(int64_t)> refused);

}  // namespace hlo::spmd
