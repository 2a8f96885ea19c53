// A library that programs preload: aligned memory, in which the values of runs are, lies between two pages
// that cannot be accessed, and stays inaccessible after it is freed. An access beyond an array, also by
// machine code, which no sanitizer checks, is a segmentation fault. HLO_GUARD_PAGES tells which end is exact:
// "begin", or "end" (the default), where arrays end at a multiple of four bytes and have no other alignment.

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// The allocator of glibc, which this library's free() replaces.
extern "C" void __libc_free(void* memory);  // NOLINT(bugprone-reserved-identifier)

namespace {

constexpr size_t kPage = 4096, kRegion = size_t{1} << 40;

size_t RoundUp(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// Memory is taken from one region, whose addresses are not reused.
class Region {
 public:
  static Region& OfProcess() {
    static Region region;
    return region;
  }
  bool Contains(const void* memory) const {
    return reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(begin_) < kRegion;
  }
  void* Take(size_t alignment, size_t bytes) {
    const size_t all = RoundUp(std::max<size_t>(bytes, 1), kPage), step = std::max(alignment, kPage);
    const size_t first = RoundUp(used_.fetch_add(all + 2 * kPage + step) + kPage, step);
    if (first + all + kPage > kRegion) return nullptr;
    if (mprotect(begin_ + first, all, PROT_READ | PROT_WRITE) != 0) return nullptr;
    const char* exact = std::getenv("HLO_GUARD_PAGES");
    const bool at_end = alignment <= kPage && (exact == nullptr || std::strcmp(exact, "begin") != 0);
    std::byte* data = begin_ + first + (at_end ? all - RoundUp(bytes, 4) : 0);
    page_counts_[PageOf(data)] = static_cast<uint32_t>(all / kPage);
    return data;
  }
  void Release(void* memory) {
    const size_t page = PageOf(memory), bytes = size_t{page_counts_[page]} * kPage;
    madvise(begin_ + page * kPage, bytes, MADV_DONTNEED);
    mprotect(begin_ + page * kPage, bytes, PROT_NONE);
  }

 private:
  Region()
      : begin_(static_cast<std::byte*>(Map(kRegion, PROT_NONE))),
        page_counts_(
            static_cast<uint32_t*>(Map(kRegion / kPage * sizeof(uint32_t), PROT_READ | PROT_WRITE))) {}
  static void* Map(size_t bytes, int protection) {
    void* memory = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    return memory;
  }
  size_t PageOf(const void* memory) const {
    return static_cast<size_t>(static_cast<const std::byte*>(memory) - begin_) / kPage;
  }

  std::byte* const begin_;
  uint32_t* const page_counts_;  // By the page of the first byte.
  std::atomic<size_t> used_ = 0;
};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  *memory = Region::OfProcess().Take(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
void* aligned_alloc(size_t alignment, size_t bytes) { return Region::OfProcess().Take(alignment, bytes); }
void free(void* memory) {
  if (Region::OfProcess().Contains(memory))
    Region::OfProcess().Release(memory);
  else
    __libc_free(memory);
}

}  // extern "C"
#pragma GCC visibility pop
