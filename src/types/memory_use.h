#pragma once
// Accounting for BufferMemoryUse.

#include <cstdint>

#include "absl/status/status.h"

namespace hlo {

// Claims memory until it is released. Returns ResourceExhausted beyond the limit.
absl::Status ClaimMemory(int64_t byte_count);
void ReleaseMemory(int64_t byte_count);

}  // namespace hlo
