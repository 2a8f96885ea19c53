#pragma once
// When must the run of this thread end? Loops that may take long ask now and then.

#include <chrono>
#include <optional>

#include "absl/status/status.h"

namespace hlo {

// A limit of time for this thread, from construction to destruction. The outermost one counts.
class Deadline {
 public:
  explicit Deadline(double seconds);  // 0: no limit.
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // DeadlineExceeded once the limit that is in force has passed.
  static absl::Status Check();

 private:
  bool is_outermost_;
};

}  // namespace hlo
