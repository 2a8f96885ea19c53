#include "base/pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace hlo {
namespace {

void* AllocateAligned(int64_t byte_count, int64_t alignment) {
  const int64_t padded = std::max<int64_t>((byte_count + alignment - 1) / alignment, 1) * alignment;
  return std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(padded));
}

}  // namespace

void* AllocatePages(int64_t byte_count, int64_t large_from) {
#if defined(MADV_HUGEPAGE)
  constexpr int64_t kLargePage = 2 << 20;
  if (byte_count >= large_from) {
    void* data = AllocateAligned(byte_count, kLargePage);
    if (data != nullptr) madvise(data, static_cast<size_t>(byte_count), MADV_HUGEPAGE);
    return data;
  }
#endif
  return AllocateAligned(byte_count, 64);
}

}  // namespace hlo
