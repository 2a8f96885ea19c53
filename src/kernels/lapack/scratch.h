#pragma once
// This file allocates temporary buffers. Large ones come from the process-wide buffer cache, because the
// system zeroes newly mapped pages.

#include "base/check.h"
#include "base/pages.h"
#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::lapack {

// An uninitialised buffer, aligned to 64 bytes.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t count)
      : count_(count),
        data_(static_cast<T*>(IsLarge() ? AllocatePages(ByteCount(), kLarge)
                                        : cpu::AllocateBlock(ByteCount()))) {
    HLO_CHECK(data_ != nullptr);
  }
  Scratch(const Scratch&) = delete;
  ~Scratch() { IsLarge() ? FreePages(data_, ByteCount(), kLarge) : cpu::FreeBlock(data_, ByteCount()); }

  T* data() const { return data_; }
  int64_t size() const { return count_; }

 private:
  static constexpr int64_t kLarge = cpu::kMaxCachedBytes + 1;
  int64_t ByteCount() const { return count_ * static_cast<int64_t>(sizeof(T)); }
  bool IsLarge() const { return ByteCount() >= kLarge; }

  int64_t count_;
  T* data_;
};

}  // namespace hlo::lapack
