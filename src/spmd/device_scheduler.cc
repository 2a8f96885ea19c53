#include "spmd/device_scheduler.h"

#include <algorithm>

namespace hlo::spmd {

DeviceScheduler::DeviceScheduler(int max_running) : max_running_(std::max(max_running, 1)) {}

void DeviceScheduler::Add(Thread& thread) {
  ready_.push_back(&thread);
  GiveTurns();
}

void DeviceScheduler::Start(Thread& thread, Lock& lock) {
  thread.turn_.wait(lock, [&] { return thread.state_ == Thread::State::kRunning; });
}

void DeviceScheduler::End(Thread& thread) {
  thread.state_ = Thread::State::kEnded;
  --running_;
  GiveTurns();
}

void DeviceScheduler::Wait(Thread& thread, Lock& lock) {
  Suspend(thread);
  thread.turn_.wait(lock, [&] { return thread.state_ == Thread::State::kRunning; });
}

void DeviceScheduler::Wait(Thread& thread, Lock& lock, std::chrono::milliseconds period,
                           absl::FunctionRef<void()> check) {
  Suspend(thread);
  while (!thread.turn_.wait_for(lock, period, [&] { return thread.state_ == Thread::State::kRunning; })) {
    if (thread.IsWaiting()) check();
  }
}

void DeviceScheduler::Wake(Thread& thread) {
  thread.state_ = Thread::State::kReady;
  ready_.push_back(&thread);
  GiveTurns();
}

void DeviceScheduler::Suspend(Thread& thread) {
  thread.state_ = Thread::State::kWaiting;
  --running_;
  GiveTurns();
}

void DeviceScheduler::GiveTurns() {
  for (; running_ < max_running_ && !ready_.empty(); ++running_) {
    ready_.front()->state_ = Thread::State::kRunning;
    ready_.front()->turn_.notify_one();
    ready_.pop_front();
  }
}

}  // namespace hlo::spmd
