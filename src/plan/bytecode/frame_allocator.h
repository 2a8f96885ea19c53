#pragma once
// Allocates places in the frame behind the arena: permanently, for the duration of a step, or while a load
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

  // Aligns the place to the largest element that fits.
  cpu::FramePlace Allocate(int64_t byte_count) {
    constexpr int64_t kAlignment = 16;
    const int64_t alignment = byte_count >= kAlignment ? kAlignment : byte_count > 4 ? 8 : 4;
    const int64_t place = RoundUp(end_, alignment);
    end_ = place + byte_count;
    return static_cast<cpu::FramePlace>(place);
  }
  // Allocates a place that is free again after ReleaseAll or, if Keep was called for it, after Release.
  cpu::FramePlace AllocateTemporary(int64_t byte_count) {
    std::vector<cpu::FramePlace>& free = free_[byte_count];
    cpu::FramePlace place = -1;
    if (free.empty()) {
      place = Allocate(byte_count);
    } else {
      place = free.back();
      free.pop_back();
    }
    borrowed_.push_back({byte_count, place});
    return place;
  }
  void ReleaseAll() {
    for (const auto& [byte_count, place] : borrowed_) free_[byte_count].push_back(place);
    borrowed_.clear();
  }
  // Exempts a temporary from ReleaseAll.
  void Keep(cpu::FramePlace place) {
    std::erase_if(borrowed_, [&](const auto& each) { return each.second == place; });
  }
  void Release(int64_t byte_count, cpu::FramePlace place) { free_[byte_count].push_back(place); }

 private:
  int64_t end_;
  absl::flat_hash_map<int64_t, std::vector<cpu::FramePlace>> free_;  // Keyed by byte count.
  std::vector<std::pair<int64_t, cpu::FramePlace>> borrowed_;
};

}  // namespace hlo::plan
