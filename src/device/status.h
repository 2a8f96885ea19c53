#pragma once
// CUDA's error codes as statuses, for code that does not see CUDA's headers.

#include <string_view>

#include "absl/status/status.h"

namespace hlo::device {

// "doing ...: name: text". Out of memory: ResourceExhausted; no driver, no device: Unimplemented; others:
// Internal.
absl::Status CudaStatus(int cuda_error, std::string_view doing);

}  // namespace hlo::device
