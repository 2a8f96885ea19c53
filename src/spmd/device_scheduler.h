#pragma once
// Schedules the threads that run the devices of a process, of which only some run at a time.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

#include "absl/functional/function_ref.h"

namespace hlo::spmd {

// The threads take turns: one that waits lets the next one run that is ready. Turns are given in the order in
// which threads become ready. Callers of all functions hold the lock of one mutex.
class DeviceScheduler {
 public:
  using Lock = std::unique_lock<std::mutex>;

  // The state of a device's thread.
  class Thread {
   public:
    bool IsWaiting() const { return state_ == State::kWaiting; }

   private:
    friend DeviceScheduler;
    enum class State : uint8_t { kReady, kRunning, kWaiting, kEnded };

    State state_ = State::kReady;
    std::condition_variable turn_;
  };

  // At most `max_running` threads, but at least one, run at a time.
  explicit DeviceScheduler(int max_running);
  DeviceScheduler(const DeviceScheduler&) = delete;
  DeviceScheduler& operator=(const DeviceScheduler&) = delete;

  // Adds a thread, which calls Start before it runs, and End afterwards.
  void Add(Thread& thread);
  // Waits for the thread's first turn; the lock is released meanwhile.
  static void Start(Thread& thread, Lock& lock);
  void End(Thread& thread);

  // Waits until another thread calls Wake and it is this thread's turn; the lock is released meanwhile.
  void Wait(Thread& thread, Lock& lock);
  // The same, but calls `check` periodically until another thread calls Wake. It may call Wake itself.
  void Wait(Thread& thread, Lock& lock, std::chrono::milliseconds period, absl::FunctionRef<void()> check);
  // Makes a waiting thread ready.
  void Wake(Thread& thread);

 private:
  void Suspend(Thread& thread);
  void GiveTurns();

  const int max_running_;
  int running_ = 0;
  std::deque<Thread*> ready_;
};

}  // namespace hlo::spmd
