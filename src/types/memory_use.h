#pragma once
// What BufferMemoryUse counts.

#include <cstdint>

#include "absl/status/status.h"

namespace hlo {

// So many bytes more are in use, until they are released. RESOURCE_EXHAUSTED where they do not fit.
absl::Status ClaimMemory(int64_t byte_count);
void ReleaseMemory(int64_t byte_count);

}  // namespace hlo
