#pragma once
// Memory between two pages that cannot be accessed, for machine code, whose accesses no sanitizer checks. An
// access beyond either end ends the test with a segmentation fault.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/arithmetic.h"

namespace hlo {

class GuardedMemory {
 public:
  // The end of the memory that meets the inaccessible page.
  enum class Place { kBegin, kEnd };

  GuardedMemory(int64_t byte_count, Place place)
      : page_(sysconf(_SC_PAGESIZE)), pages_bytes_(RoundUp(byte_count, page_)), byte_count_(byte_count) {
    void* all = mmap(nullptr, MappedBytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::runtime_error("cannot map guarded memory");
    mapped_ = static_cast<std::byte*>(all);
    if (pages_bytes_ > 0 &&
        mprotect(mapped_ + page_, static_cast<size_t>(pages_bytes_), PROT_READ | PROT_WRITE) != 0)
      throw std::runtime_error("cannot access guarded memory");
    data_ = mapped_ + page_ + (place == Place::kEnd ? pages_bytes_ - byte_count : 0);
  }
  GuardedMemory(const std::vector<std::byte>& bytes, Place place)
      : GuardedMemory(static_cast<int64_t>(bytes.size()), place) {
    if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
  }
  GuardedMemory(GuardedMemory&& other) noexcept
      : page_(other.page_),
        pages_bytes_(other.pages_bytes_),
        byte_count_(other.byte_count_),
        mapped_(std::exchange(other.mapped_, nullptr)),
        data_(other.data_) {}
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory() {
    if (mapped_ != nullptr) munmap(mapped_, MappedBytes());
  }

  std::byte* data() { return data_; }
  std::vector<std::byte> Bytes() const { return {data_, data_ + byte_count_}; }

 private:
  size_t MappedBytes() const { return static_cast<size_t>(pages_bytes_ + 2 * page_); }

  int64_t page_, pages_bytes_, byte_count_;
  std::byte* mapped_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace hlo
