#pragma once
// Memory for large arrays.

#include <cstdint>

namespace hlo {

// Aligned to 64 bytes, for std::free; nullptr where there is none. On large pages from so many bytes on,
// where the system has them: far fewer of them have to be found and cleared, and less of their table is used
// up.
void* AllocatePages(int64_t byte_count, int64_t large_from);

// Frees what is aligned so. The last blocks of many bytes are kept for who asks for as many next, up to a
// quarter of a gigabyte in all: the system clears each page anew, which takes longer than many a loop over
// it.
void ReturnPages(void* data, int64_t byte_count, int64_t large_from);
// Frees what is kept.
void DropReturnedPages();
// Whether anything is kept from now on; at first it is.
void KeepReturnedPages(bool keep);

}  // namespace hlo
