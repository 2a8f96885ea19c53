// Tests buffer assignment from live ranges: buffers with overlapping lifetimes do not overlap, and little
// memory is wasted.

#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "plan/memory/offset_assignment.h"

namespace hlo::plan::placement_test {
namespace {

void ExpectApart(const std::vector<Lifetime>& lifetimes, const Placement& placement) {
  ASSERT_EQ(placement.offsets.size(), lifetimes.size());
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const Lifetime& a = lifetimes[i];
    EXPECT_LE(placement.offsets[i] + a.byte_count, placement.byte_count);
    for (size_t j = 0; j < i; ++j) {
      const Lifetime& b = lifetimes[j];
      const bool at_once = a.begin <= b.end && b.begin <= a.end;
      const bool one_place = placement.offsets[i] < placement.offsets[j] + b.byte_count &&
                             placement.offsets[j] < placement.offsets[i] + a.byte_count;
      EXPECT_FALSE(at_once && one_place) << i << " and " << j;
    }
  }
}

TEST(Placement, KeepsValuesApartAndAligned) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lifetimes;
    const int count = static_cast<int>(random() % 40);
    for (int i = 0; i < count; ++i) {
      const int64_t begin = random() % 30;
      lifetimes.push_back({begin, begin + static_cast<int64_t>(random() % 10),
                           static_cast<int64_t>(random() % (1 << random() % 12))});
    }
    const Placement placement = PlaceLifetimes(lifetimes);
    ExpectApart(lifetimes, placement);
    for (size_t i = 0; i < lifetimes.size(); ++i) {
      const int64_t bytes = lifetimes[i].byte_count;
      const int64_t alignment = bytes > 32 ? 64 : bytes > 16 ? 32 : bytes > 8 ? 16 : bytes > 4 ? 8 : 4;
      EXPECT_EQ(placement.offsets[i] % alignment, 0) << bytes;
    }
  }
}

TEST(Placement, PutsNothingSmallWhereSomethingLargeFits) {
  const std::vector<Lifetime> lifetimes = {{1, 3, 4096}, {3, 5, 4096}, {4, 8, 4}, {5, 7, 4096}, {7, 8, 4096}};
  const Placement placement = PlaceLifetimes(lifetimes);
  ExpectApart(lifetimes, placement);
  EXPECT_EQ(placement.byte_count, 2 * 4096 + 4);
}

TEST(Placement, PacksScalars) {
  EXPECT_EQ(PlaceLifetimes({{1, 2, 4}, {1, 2, 1}, {1, 2, 8}, {2, 2, 40}}).byte_count, 80);
}

}  // namespace
}  // namespace hlo::plan::placement_test
