// Tests that accesses beyond guarded memory end the program.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace hlo::guard_pages_test {
namespace {

constexpr int kBytes = 200;

volatile char* Allocate() {
  void* memory = nullptr;
  EXPECT_EQ(posix_memalign(&memory, 64, kBytes), 0);
  return static_cast<volatile char*>(memory);
}

TEST(GuardPages, TheEndIsExact) {
  setenv("HLO_GUARD_PAGES", "end", 1);
  volatile char* memory = Allocate();
  for (int i = 0; i < kBytes; ++i) memory[i] = 1;
  EXPECT_DEATH(memory[kBytes] = 1, "");
  EXPECT_DEATH(static_cast<void>(memory[kBytes]), "");
}

TEST(GuardPages, TheBeginIsExact) {
  setenv("HLO_GUARD_PAGES", "begin", 1);
  volatile char* memory = Allocate();
  for (int i = 0; i < kBytes; ++i) memory[i] = 1;
  EXPECT_DEATH(memory[-1] = 1, "");
  EXPECT_DEATH(static_cast<void>(memory[-1]), "");
}

TEST(GuardPages, FreedMemoryIsInaccessible) {
  volatile char* memory = Allocate();
  volatile uintptr_t address = reinterpret_cast<uintptr_t>(memory);
  std::free(const_cast<char*>(memory));
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(address) = 1, "");
}

TEST(GuardPages, LargeAlignmentsAreKept) {
  constexpr size_t kAlignment = 2 << 20;
  void* memory = nullptr;
  ASSERT_EQ(posix_memalign(&memory, kAlignment, kAlignment), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % kAlignment, 0u);
  EXPECT_DEATH(static_cast<volatile char*>(memory)[kAlignment] = 1, "");
  std::free(memory);
}

TEST(GuardPages, ArraysAreApart) {
  constexpr size_t kAlignments[] = {64, 2 << 20, 64, 64, 2 << 20, 2 << 20, 4096, 64};
  std::vector<std::pair<uintptr_t, uintptr_t>> ranges;
  for (int round = 0; round < 50; ++round) {
    for (const size_t alignment : kAlignments) {
      const size_t bytes = round % 3 == 0 ? 100 : (size_t{1} << 20) * static_cast<size_t>(round) / 7;
      void* memory = std::aligned_alloc(alignment, bytes);
      ASSERT_NE(memory, nullptr);
      const auto begin = reinterpret_cast<uintptr_t>(memory);
      ranges.emplace_back(begin, begin + bytes);
    }
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) EXPECT_GE(ranges[i].first, ranges[i - 1].second + 4096);
  for (const auto& range : ranges) std::free(reinterpret_cast<void*>(range.first));
}

}  // namespace
}  // namespace hlo::guard_pages_test
