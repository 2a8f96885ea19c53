#include "plan/plan.h"

namespace hlo::plan {

int64_t MemoryOf(const Plan& plan) {
  int64_t bytes = plan.arena_bytes + plan.kernel_bytes;
  for (const Buffer& buffer : plan.buffers)
    bytes += buffer.kind == Buffer::Kind::kAllocated ? buffer.byte_count : 0;
  return bytes;
}

}  // namespace hlo::plan
