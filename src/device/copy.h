#pragma once
// Whole pieces of device memory, in the order of a stream.

#include <cstdint>

#include "absl/status/status.h"
#include "device/stream.h"

namespace hlo::device {

// Between places that do not overlap; nothing where they are the same.
absl::Status CopyOnDevice(void* to, const void* from, int64_t byte_count, Stream stream);
// Every byte.
absl::Status FillOnDevice(void* to, uint8_t value, int64_t byte_count, Stream stream);

}  // namespace hlo::device
