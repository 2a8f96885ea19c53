// Tests buffer assignment from live ranges: buffers with overlapping lifetimes do not overlap, and little
// memory is wasted.

#include "plan/memory/offset_assignment.h"

#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace hlo::plan::offset_assignment_test {
namespace {

void ExpectDisjoint(const std::vector<LiveRange>& live_ranges, const OffsetAssignment& assignment) {
  ASSERT_EQ(assignment.offsets.size(), live_ranges.size());
  for (size_t i = 0; i < live_ranges.size(); ++i) {
    const LiveRange& a = live_ranges[i];
    EXPECT_LE(assignment.offsets[i] + a.byte_count, assignment.byte_count);
    for (size_t j = 0; j < i; ++j) {
      const LiveRange& b = live_ranges[j];
      const bool at_once = a.begin <= b.end && b.begin <= a.end;
      const bool one_place = assignment.offsets[i] < assignment.offsets[j] + b.byte_count &&
                             assignment.offsets[j] < assignment.offsets[i] + a.byte_count;
      EXPECT_FALSE(at_once && one_place) << i << " and " << j;
    }
  }
}

TEST(OffsetAssignment, RangesAreDisjointAndAligned) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<LiveRange> live_ranges;
    const int count = static_cast<int>(random() % 40);
    for (int i = 0; i < count; ++i) {
      const int64_t begin = random() % 30;
      live_ranges.push_back({begin, begin + static_cast<int64_t>(random() % 10),
                             static_cast<int64_t>(random() % (1 << random() % 12))});
    }
    const OffsetAssignment assignment = AssignOffsets(live_ranges);
    ExpectDisjoint(live_ranges, assignment);
    for (size_t i = 0; i < live_ranges.size(); ++i) {
      const int64_t bytes = live_ranges[i].byte_count;
      const int64_t alignment = bytes > 32 ? 64 : bytes > 16 ? 32 : bytes > 8 ? 16 : bytes > 4 ? 8 : 4;
      EXPECT_EQ(assignment.offsets[i] % alignment, 0) << bytes;
    }
  }
}

TEST(OffsetAssignment, SmallBuffersDoNotFragmentLargeGaps) {
  const std::vector<LiveRange> live_ranges = {
      {1, 3, 4096}, {3, 5, 4096}, {4, 8, 4}, {5, 7, 4096}, {7, 8, 4096}};
  const OffsetAssignment assignment = AssignOffsets(live_ranges);
  ExpectDisjoint(live_ranges, assignment);
  EXPECT_EQ(assignment.byte_count, 2 * 4096 + 4);
}

TEST(OffsetAssignment, PacksScalars) {
  EXPECT_EQ(AssignOffsets({{1, 2, 4}, {1, 2, 1}, {1, 2, 8}, {2, 2, 40}}).byte_count, 80);
}

}  // namespace
}  // namespace hlo::plan::offset_assignment_test
