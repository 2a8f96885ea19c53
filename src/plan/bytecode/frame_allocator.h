#pragma once
// Allocates bytes of the frame behind the arena: permanently, for the duration of a step, or while a load
// may be reused.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/arithmetic.h"
#include "kernels/cpu/bytecode/bytecode.h"

namespace hlo::plan {

class FrameAllocator {
 public:
  explicit FrameAllocator(int64_t end) : end_(end) {}

  int64_t end() const { return end_; }

  // Aligns the offset to the largest element that fits.
  cpu::FrameOffset Allocate(int64_t byte_count) {
    constexpr int64_t kAlignment = 16;
    const int64_t alignment = byte_count >= kAlignment ? kAlignment : byte_count > 4 ? 8 : 4;
    const int64_t offset = RoundUp(end_, alignment);
    end_ = offset + byte_count;
    return static_cast<cpu::FrameOffset>(offset);
  }
  // Allocates bytes that are free again after ReleaseAll or, if Keep was called for it, after Release.
  cpu::FrameOffset AllocateTemporary(int64_t byte_count) {
    std::vector<cpu::FrameOffset>& free = free_[byte_count];
    cpu::FrameOffset offset = -1;
    if (free.empty()) {
      offset = Allocate(byte_count);
    } else {
      offset = free.back();
      free.pop_back();
    }
    borrowed_.push_back({byte_count, offset});
    return offset;
  }
  void ReleaseAll() {
    for (const auto& [byte_count, offset] : borrowed_) free_[byte_count].push_back(offset);
    borrowed_.clear();
  }
  // Exempts a temporary from ReleaseAll.
  void Keep(cpu::FrameOffset offset) {
    std::erase_if(borrowed_, [&](const auto& each) { return each.second == offset; });
  }
  void Release(int64_t byte_count, cpu::FrameOffset offset) { free_[byte_count].push_back(offset); }

 private:
  int64_t end_;
  absl::flat_hash_map<int64_t, std::vector<cpu::FrameOffset>> free_;  // Keyed by byte count.
  std::vector<std::pair<int64_t, cpu::FrameOffset>> borrowed_;
};

}  // namespace hlo::plan
