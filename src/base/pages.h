#pragma once
// Memory for large arrays.

#include <cstdint>

namespace hlo {

// Aligned to 64 bytes, for std::free; nullptr where there is none. On large pages from so many bytes on,
// where the system has them: far fewer of them have to be found and cleared, and less of their table is used
// up.
void* AllocatePages(int64_t byte_count, int64_t large_from);

}  // namespace hlo
