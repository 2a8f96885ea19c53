#include "base/pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <vector>

namespace hlo {
namespace {

void* AllocateAligned(int64_t byte_count, int64_t alignment) {
  void* data = nullptr;
  const auto size = static_cast<size_t>(std::max<int64_t>(byte_count, 1));
  return posix_memalign(&data, static_cast<size_t>(alignment), size) == 0 ? data : nullptr;
}

constexpr int64_t kMaxCached = 256 << 20;

class PageCache {
 public:
  static PageCache& OfProcess() {
    static auto* blocks = new PageCache;
    return *blocks;
  }
  void* Take(int64_t byte_count) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(),
                                    [&](const Block& block) { return block.byte_count == byte_count; });
    if (found == blocks_.rend()) return nullptr;
    void* data = found->data;
    total_ -= byte_count;
    blocks_.erase(std::next(found).base());
    return data;
  }
  void Put(void* data, int64_t byte_count) {
    const std::lock_guard lock(mutex_);
    blocks_.push_back({data, byte_count});
    total_ += byte_count;
    DropTo(limit_);
  }
  void Drop() {
    const std::lock_guard lock(mutex_);
    DropTo(0);
  }
  void LimitTo(int64_t limit) {
    const std::lock_guard lock(mutex_);
    limit_ = limit;
    DropTo(limit_);
  }

 private:
  // Frees the oldest blocks first.
  void DropTo(int64_t limit) {
    auto end = blocks_.begin();
    for (; total_ > limit; ++end) {
      std::free(end->data);
      total_ -= end->byte_count;
    }
    blocks_.erase(blocks_.begin(), end);
  }

  struct Block {
    void* data;
    int64_t byte_count;
  };
  std::mutex mutex_;
  std::vector<Block> blocks_;
  int64_t total_ = 0, limit_ = kMaxCached;
};

}  // namespace

void* AllocatePages(int64_t byte_count, int64_t large_from) {
  constexpr int64_t kLargePage = 2 << 20;
  const bool is_large = byte_count >= large_from;
  if (is_large) {
    if (void* cached = PageCache::OfProcess().Take(byte_count); cached != nullptr) return cached;
  }
  const int64_t alignment = is_large ? kLargePage : 64;
  void* data = AllocateAligned(byte_count, alignment);
  if (data == nullptr) {  // Cached blocks may occupy the memory.
    FreeCachedPages();
    data = AllocateAligned(byte_count, alignment);
  }
#if defined(MADV_HUGEPAGE)
  if (is_large && data != nullptr) madvise(data, static_cast<size_t>(byte_count), MADV_HUGEPAGE);
#endif
  return data;
}

void FreePages(void* data, int64_t byte_count, int64_t large_from) {
  if (byte_count >= large_from)
    PageCache::OfProcess().Put(data, byte_count);
  else
    std::free(data);
}

void FreeCachedPages() { PageCache::OfProcess().Drop(); }
void EnablePageCache(bool keep) { PageCache::OfProcess().LimitTo(keep ? kMaxCached : 0); }

}  // namespace hlo
