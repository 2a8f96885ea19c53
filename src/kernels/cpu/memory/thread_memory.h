#pragma once
// This file defines a scratch buffer that a thread reuses.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/arithmetic.h"
#include "base/check.h"

namespace hlo::cpu {

class ThreadMemory {
 public:
  // Returns uninitialised memory, aligned to 64 bytes and valid until the next call.
  std::byte* Reserve(int64_t bytes) {
    if (size_ < bytes) {
      size_ = RoundUp(bytes, 4096);
      memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, size_)));
      HLO_CHECK(memory_ != nullptr);
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  int64_t size_ = 0;
};

}  // namespace hlo::cpu
