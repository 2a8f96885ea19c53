#include "kernels/cpu/memory/buffer_cache.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/arithmetic.h"
#include "base/check.h"

namespace hlo::cpu {
namespace {

// Blocks of 2^kSmallest, ..., 2^kLargest bytes are cached.
constexpr int kSmallest = 6, kLargest = std::bit_width(kMaxCachedBytes) - 1;

int ClassOf(size_t bytes) {
  return std::max(kSmallest, static_cast<int>(std::bit_width(std::max<size_t>(bytes, 1) - 1)));
}

// The free lists of a thread, by size class; each block holds the pointer to the next one.
class FreeLists {
 public:
  ~FreeLists() {
    for (void*& first : first_) {
      while (first != nullptr) std::free(Pop(first));
    }
    ended_ = true;
  }
  void* Allocate(int size_class) {
    void*& first = first_[size_class - kSmallest];
    if (first == nullptr) return nullptr;
    --count_[size_class - kSmallest];
    return Pop(first);
  }
  // Returns false if the list is full.
  bool Release(void* block, int size_class) {
    if (count_[size_class - kSmallest] == kMaxPerClass) return false;
    ++count_[size_class - kSmallest];
    void*& first = first_[size_class - kSmallest];
    *static_cast<void**>(block) = first;
    first = block;
    return true;
  }
  // Returns the free lists of this thread, or nullptr after they are destroyed.
  static FreeLists* OfThread() {
    static thread_local FreeLists blocks;
    return ended_ ? nullptr : &blocks;
  }

 private:
  static void* Pop(void*& first) {
    void* block = first;
    first = *static_cast<void**>(block);
    return block;
  }
  static inline thread_local bool ended_ = false;
  static constexpr int kMaxPerClass = 16;
  void* first_[kLargest - kSmallest + 1] = {};
  int count_[kLargest - kSmallest + 1] = {};
};

}  // namespace

void* AllocateBlock(size_t bytes) {
  const int size_class = ClassOf(bytes);
  if (size_class <= kLargest) {
    FreeLists* lists = FreeLists::OfThread();
    if (void* block = lists == nullptr ? nullptr : lists->Allocate(size_class); block != nullptr)
      return block;
    bytes = size_t{1} << size_class;
  }
  void* block = std::aligned_alloc(64, RoundUp(bytes, 64));
  HLO_CHECK(block != nullptr);
  return block;
}

void FreeBlock(void* block, size_t bytes) {
  const int size_class = ClassOf(bytes);
  FreeLists* lists = size_class <= kLargest ? FreeLists::OfThread() : nullptr;
  if (lists == nullptr || !lists->Release(block, size_class)) std::free(block);
}

}  // namespace hlo::cpu
