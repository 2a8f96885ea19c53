#pragma once
// Accounting for BufferMemoryUse.

#include <cstdint>

#include "absl/status/status.h"

namespace hlo {

// Claims memory until it is released. Returns ResourceExhausted beyond the limit.
absl::Status ClaimMemory(int64_t byte_count);
void ReleaseMemory(int64_t byte_count);

// Returns the limit of SetMemoryLimit; 0 means the memory of the machine.
int64_t MemoryLimit();

}  // namespace hlo
