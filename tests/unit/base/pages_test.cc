#include "base/pages.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace hlo::pages_test {
namespace {

constexpr int64_t kMiB = 1 << 20;

TEST(Pages, ALargeBlockIsReusedForTheSameSize) {
  FreeCachedPages();
  void* first = AllocatePages(40 * kMiB, 32 * kMiB);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  std::memset(first, 1, 40 * kMiB);
  FreePages(first, 40 * kMiB, 32 * kMiB);
  void* other = AllocatePages(41 * kMiB, 32 * kMiB);
  EXPECT_NE(other, first);
  void* again = AllocatePages(40 * kMiB, 32 * kMiB);
  EXPECT_EQ(again, first);
  void* second = AllocatePages(40 * kMiB, 32 * kMiB);
  EXPECT_NE(second, first);
  for (void* data : {other, again, second}) std::free(data);
}

// The oldest cached pages are freed first; allocations larger than the cache are freed at once.
TEST(Pages, CachesUpTo256MiB) {
  FreeCachedPages();
  void *a = AllocatePages(100 * kMiB, kMiB), *b = AllocatePages(101 * kMiB, kMiB),
       *c = AllocatePages(102 * kMiB, kMiB);
  FreePages(a, 100 * kMiB, kMiB);
  FreePages(b, 101 * kMiB, kMiB);
  FreePages(c, 102 * kMiB, kMiB);
  EXPECT_EQ(AllocatePages(102 * kMiB, kMiB), c);
  EXPECT_EQ(AllocatePages(101 * kMiB, kMiB), b);
  FreePages(b, 101 * kMiB, kMiB);
  FreePages(AllocatePages(257 * kMiB, kMiB), 257 * kMiB, kMiB);
  void* anew = AllocatePages(101 * kMiB, kMiB);
  ASSERT_NE(anew, nullptr);
  std::free(anew);
  std::free(c);
}

}  // namespace
}  // namespace hlo::pages_test
