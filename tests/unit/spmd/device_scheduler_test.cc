#include "spmd/device_scheduler.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace hlo::spmd {
namespace {

// Runs body(k, lock) for each thread k on a thread of its own, with turns of the scheduler.
template <class Body>
void RunThreads(DeviceScheduler& scheduler, std::mutex& mutex, std::vector<DeviceScheduler::Thread>& threads,
                Body&& body) {
  {
    const DeviceScheduler::Lock lock(mutex);
    for (DeviceScheduler::Thread& thread : threads) scheduler.Add(thread);
  }
  std::vector<std::thread> running;
  for (size_t k = 0; k < threads.size(); ++k) {
    running.emplace_back([&, k] {
      DeviceScheduler::Lock lock(mutex);
      DeviceScheduler::Start(threads[k], lock);
      body(k, lock);
      scheduler.End(threads[k]);
    });
  }
  for (std::thread& thread : running) thread.join();
}

TEST(DeviceSchedulerTest, RunsThreadsInTheOrderInWhichTheyAreReady) {
  std::mutex mutex;
  DeviceScheduler scheduler(1);
  std::vector<DeviceScheduler::Thread> threads(3);
  std::vector<size_t> order;
  RunThreads(scheduler, mutex, threads, [&](size_t k, DeviceScheduler::Lock& lock) {
    order.push_back(k);
    if (k < 2) scheduler.Wait(threads[k], lock);
    order.push_back(k);
    // The last thread wakes the second before the first.
    if (k == 2) {
      scheduler.Wake(threads[1]);
      scheduler.Wake(threads[0]);
    }
  });
  EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 2, 1, 0}));
}

TEST(DeviceSchedulerTest, RunsAtMostTheGivenNumberAtATime) {
  for (const int max_running : {0, 1, 2, 5}) {
    std::mutex mutex;
    DeviceScheduler scheduler(max_running);
    std::vector<DeviceScheduler::Thread> threads(5);
    int running = 0, most = 0;
    RunThreads(scheduler, mutex, threads, [&](size_t k, DeviceScheduler::Lock& lock) {
      most = std::max(most, ++running);
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      lock.lock();
      --running;
      if (k == 0) return;
      scheduler.Wait(threads[k], lock, std::chrono::milliseconds(1), [&] { scheduler.Wake(threads[k]); });
      most = std::max(most, ++running);
      --running;
    });
    EXPECT_LE(most, std::max(max_running, 1));
    EXPECT_EQ(running, 0);
  }
}

TEST(DeviceSchedulerTest, ChecksAWaitingThreadUntilItIsReady) {
  std::mutex mutex;
  DeviceScheduler scheduler(1);
  std::vector<DeviceScheduler::Thread> threads(1);
  int checks = 0;
  RunThreads(scheduler, mutex, threads, [&](size_t k, DeviceScheduler::Lock& lock) {
    scheduler.Wait(threads[k], lock, std::chrono::milliseconds(1), [&] {
      EXPECT_TRUE(threads[k].IsWaiting());
      if (++checks == 3) scheduler.Wake(threads[k]);
    });
    EXPECT_FALSE(threads[k].IsWaiting());
  });
  EXPECT_EQ(checks, 3);
}

}  // namespace
}  // namespace hlo::spmd
