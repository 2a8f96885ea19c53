#include "base/parallel.h"

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace hlo::parallel_test {
namespace {

constexpr double kLong = 1e9;  // Nanoseconds; enough work for several threads.

// Returns the number of visits of each index.
std::vector<int> Visits(int64_t count) {
  std::vector<int> visits(count, 0);
  ParallelFor(count, kLong, [&](int64_t i) { ++visits[i]; });
  return visits;
}

TEST(ParallelFor, VisitsEachIndexOnceWithAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 8, 2, 0}) {
    SetThreadCount(threads);
    for (const int64_t count : {0, 1, 2, 7, 1000})
      EXPECT_EQ(Visits(count), std::vector<int>(count, 1)) << threads;
  }
  SetThreadCount(0);
}

TEST(ParallelFor, ThousandsOfShortLoopsFollowEachOther) {
  SetThreadCount(4);
  int64_t sum = 0;
  for (int64_t loop = 0; loop < 20000; ++loop) {
    std::atomic<int64_t> part = 0;
    ParallelFor(3, kLong, [&](int64_t i) { part += i + loop; });
    sum += part;
  }
  EXPECT_EQ(sum, 20000 * 3 + 3 * (int64_t{20000} * 19999 / 2));
  SetThreadCount(0);
}

TEST(ParallelFor, LoopsWithinLoopsRunOnTheirThread) {
  SetThreadCount(4);
  std::atomic<int> strangers = 0;
  ParallelFor(16, kLong, [&](int64_t) {
    const std::thread::id thread = std::this_thread::get_id();
    ParallelFor(16, kLong, [&](int64_t) { strangers += std::this_thread::get_id() != thread; });
  });
  EXPECT_EQ(strangers, 0);
  SetThreadCount(0);
}

TEST(ParallelFor, ManyThreadsMayCallIt) {
  SetThreadCount(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int loop = 0; loop < 500; ++loop) wrong += Visits(20) != std::vector<int>(20, 1);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
  SetThreadCount(0);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1  // As GCC does.
#endif
#endif
#ifdef __SANITIZE_THREAD__
// Each iteration is too short for another thread to begin before this thread has run them all.
TEST(ParallelForDeathTest, ThreadSanitizerFindsTheRacesOfShortLoops) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto race = [] {
    SetThreadCount(2);
    int sum = 0;
    ParallelFor(2, kLong, [&](int64_t i) { sum += static_cast<int>(i) + 1; });
    std::exit(sum == 0 ? 1 : 0);
  };
  EXPECT_EXIT(race(), testing::ExitedWithCode(66), "data race");
}
#endif

}  // namespace
}  // namespace hlo::parallel_test
