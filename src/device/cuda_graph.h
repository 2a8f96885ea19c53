#pragma once
// Captured work as CUDA graphs.

#include "device/gpu.h"

namespace hlo::device {

// Calls `work` once to capture it. Returns Unimplemented if the driver cannot capture it.
absl::StatusOr<std::unique_ptr<GpuGraph>> RecordCudaGraph(Stream stream,
                                                          const std::function<absl::Status()>& work);

}  // namespace hlo::device
