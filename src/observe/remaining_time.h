#pragma once
// Estimates the remaining time of work of which a growing part is done.

#include <chrono>
#include <optional>
#include <string>

namespace hlo {

class RemainingTime {
 public:
  using Clock = std::chrono::steady_clock;

  // Starts the measurement again: `part`, from 0 to 1, is done.
  void Start(double part, Clock::time_point now);
  // Starts again if the part is unknown.
  void Update(std::optional<double> part, Clock::time_point now);

  bool is_known() const { return is_known_; }
  std::string PercentText() const;                    // For example "45 %".
  std::string LeftText(Clock::time_point now) const;  // For example ", 12 s left"; "" if it is unknown.

 private:
  bool is_known_ = false;
  Clock::time_point start_, updated_;
  double first_ = 0, part_ = 0;
};

}  // namespace hlo
