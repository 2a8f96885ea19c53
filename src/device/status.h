#pragma once
// Converts CUDA error codes to statuses without CUDA's headers.

#include <string_view>

#include "absl/status/status.h"

namespace hlo::device {

// Returns the status "doing ...: name: text": ResourceExhausted if out of memory, Unimplemented without
// driver or device, otherwise Internal.
absl::Status CudaStatus(int cuda_error, std::string_view doing);

}  // namespace hlo::device
