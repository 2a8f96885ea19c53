#pragma once
// Loops as graphs whose body repeats itself: conditional nodes, which CUDA has from 12.4 on.

#include "device/gpu.h"

namespace hlo::device {

// Calls `turn` once, to record it. Unimplemented: the toolkit or the driver is too old.
absl::StatusOr<std::unique_ptr<GpuLoop>> RecordCudaLoop(Stream stream, const bool* goes_on,
                                                        const std::function<absl::Status()>& turn);

// While the stream records a turn. Unimplemented: the toolkit or the driver is older than 12.8.
absl::Status RecordCudaBranch(Stream stream, const void* choice, bool is_pred,
                              absl::Span<const std::function<absl::Status()>> branches);

}  // namespace hlo::device
