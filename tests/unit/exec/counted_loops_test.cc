// Tests trip counts that are computed in advance against counting loops.

#include "plan/analysis/counted_loops.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace hlo::plan::counted_loops_test {
namespace {

template <class T>
bool Holds(ComparisonDirection direction, T counter, T limit) {
  switch (direction) {
    case ComparisonDirection::kEq:
      return counter == limit;
    case ComparisonDirection::kNe:
      return counter != limit;
    case ComparisonDirection::kGe:
      return counter >= limit;
    case ComparisonDirection::kGt:
      return counter > limit;
    case ComparisonDirection::kLe:
      return counter <= limit;
    case ComparisonDirection::kLt:
      return counter < limit;
  }
  return false;
}

// Returns the trip count, or -1 if the counter overflows.
template <class T>
int Count(ComparisonDirection direction, T counter, T limit, int step) {
  int iterations = 0;
  for (; Holds(direction, counter, limit); ++iterations) {
    const int next = counter + step;
    if (next != static_cast<T>(next) || iterations == 1000) return -1;
    counter = static_cast<T>(next);
  }
  return iterations;
}

template <class T>
void CompareAll(ElementType type) {
  int known = 0;
  for (const ComparisonDirection direction :
       {ComparisonDirection::kEq, ComparisonDirection::kNe, ComparisonDirection::kGe,
        ComparisonDirection::kGt, ComparisonDirection::kLe, ComparisonDirection::kLt}) {
    for (int step = -3; step <= 3; ++step) {
      for (int first = std::numeric_limits<T>::min(); first <= std::numeric_limits<T>::max(); first += 5) {
        for (int limit = std::numeric_limits<T>::min(); limit <= std::numeric_limits<T>::max(); limit += 3) {
          const CountedLoop loop{.step = step, .type = type, .direction = direction};
          const std::optional<int64_t> iterations = TripCount(loop, first, limit);
          if (!iterations.has_value()) continue;
          ++known;
          ASSERT_EQ(*iterations, Count<T>(direction, static_cast<T>(first), static_cast<T>(limit), step))
              << static_cast<int>(direction) << " from " << first << " by " << step << " to " << limit;
        }
      }
    }
  }
  EXPECT_GT(known, 60000);
}

TEST(CountedLoops, SignedTripCountsEqualThoseOfCounting) { CompareAll<int8_t>(ElementType::kS8); }
TEST(CountedLoops, UnsignedTripCountsEqualThoseOfCounting) { CompareAll<uint8_t>(ElementType::kU8); }

TEST(CountedLoops, CommonTripCounts) {
  const CountedLoop up{.step = 1, .direction = ComparisonDirection::kLt};
  EXPECT_EQ(TripCount(up, 0, 10), 10);
  EXPECT_EQ(TripCount(up, 10, 10), 0);
  const CountedLoop down{.step = -2, .direction = ComparisonDirection::kGt};
  EXPECT_EQ(TripCount(down, 9, 0), 5);
  const CountedLoop to_the_end{.step = 1, .direction = ComparisonDirection::kLe};
  EXPECT_EQ(TripCount(to_the_end, 0, INT32_MAX), std::nullopt);  // The counter wraps and the loop continues.
}

}  // namespace
}  // namespace hlo::plan::counted_loops_test
