#pragma once
// Allocates memory for large arrays and caches freed blocks.

#include <cstdint>

namespace hlo {

// Returns memory that is aligned to 64 bytes and freed by std::free; nullptr if there is none. From
// `large_from` bytes on it uses huge pages if available, which cost fewer page faults and TLB entries.
void* AllocatePages(int64_t byte_count, int64_t large_from);

// Frees a block of AllocatePages. Large blocks are cached for later requests of the same size, up to 256 MiB
// in total, because the kernel zeroes each new page, which can take longer than a loop over it.
void FreePages(void* data, int64_t byte_count, int64_t large_from);
// Frees all cached blocks.
void FreeCachedPages();
// Enables or disables the cache. It is enabled at first.
void EnablePageCache(bool keep);

}  // namespace hlo
