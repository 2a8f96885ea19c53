#pragma once
// Time limits and cancellation of runs. Long loops check them periodically.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"

namespace hlo {

// Limits the run time of this thread for the lifetime of the object, and watches flags that cancel the run.
// Only the outermost deadline of a thread is effective.
class Deadline {
 public:
  explicit Deadline(double seconds, const std::atomic<bool>* cancel = nullptr,
                    const std::atomic<bool>* stop = nullptr);  // 0 and null mean no limit.
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // Returns DeadlineExceeded after the effective limit, or Cancelled once a flag is set.
  static absl::Status Check();
  // True if this thread has a limit or a flag that cancels it.
  static bool IsSet();

 private:
  bool is_outermost_;
};

// Checks the deadline from inner loops, reading the clock only once in many steps.
class DeadlineChecker {
 public:
  // Accounts for this many nanoseconds of work. Returns the status of Deadline::Check when it is due.
  absl::Status Spend(int64_t nanoseconds) {
    left_ -= nanoseconds;
    return left_ > 0 ? absl::OkStatus() : CheckClock();
  }

 private:
  static constexpr int64_t kCheckInterval = 1 << 20;
  absl::Status CheckClock() {
    left_ = kCheckInterval;
    return Deadline::Check();
  }
  int64_t left_ = kCheckInterval;
};

}  // namespace hlo
