#pragma once
// Copies and fills of device memory in stream order.

#include <cstdint>

#include "absl/status/status.h"
#include "device/stream.h"

namespace hlo::device {

// Copies between non-overlapping areas; does nothing if `to` equals `from`.
absl::Status CopyOnDevice(void* to, const void* from, int64_t byte_count, Stream stream);
// Sets every byte to `value`.
absl::Status FillOnDevice(void* to, uint8_t value, int64_t byte_count, Stream stream);

}  // namespace hlo::device
