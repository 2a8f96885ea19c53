#pragma once
// When must the run of this thread end? Loops that may take long ask now and then.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"

namespace hlo {

// A limit of time for this thread, from construction to destruction, and a flag that cancels the run. The outermost
// one counts.
class Deadline {
 public:
  explicit Deadline(double seconds, const std::atomic<bool>* cancel = nullptr);  // 0 and null: no limit.
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // DeadlineExceeded once the limit that is in force has passed; Cancelled once the flag is set.
  static absl::Status Check();

 private:
  bool is_outermost_;
};

// For inner loops: looks at the clock once in many steps.
class Pace {
 public:
  // Accounts for some nanoseconds of work; DeadlineExceeded as above.
  absl::Status Spend(int64_t nanoseconds) {
    left_ -= nanoseconds;
    return left_ > 0 ? absl::OkStatus() : Look();
  }

 private:
  static constexpr int64_t kBetweenLooks = 1 << 20;
  absl::Status Look() {
    left_ = kBetweenLooks;
    return Deadline::Check();
  }
  int64_t left_ = kBetweenLooks;
};

}  // namespace hlo
