#pragma once
// Device-side loops as CUDA graphs with conditional nodes (CUDA 12.4 or later).

#include "device/gpu.h"

namespace hlo::device {

// Calls `iteration` once to capture one iteration. Returns Unimplemented if the toolkit or the driver is too
// old.
absl::StatusOr<std::unique_ptr<GpuGraph>> RecordCudaLoop(Stream stream, const bool* predicate,
                                                         const std::function<absl::Status()>& iteration);

// Captures a branch within an iteration. Returns Unimplemented if the toolkit or the driver is older than
// 12.8.
absl::Status RecordCudaBranch(Stream stream, const void* choice, bool is_pred,
                              absl::Span<const std::function<absl::Status()>> branches);

}  // namespace hlo::device
