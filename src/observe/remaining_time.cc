#include "observe/remaining_time.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "fmt/format.h"

namespace hlo {
namespace {

// The least progress and time from which the speed is computed.
constexpr double kLeastPart = 1e-5, kLeastSeconds = 0.5;

double SecondsOf(RemainingTime::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string DurationText(double seconds) {
  constexpr double kLongest = 1e8;
  const auto whole = static_cast<int64_t>(std::min(std::ceil(seconds - 1e-6), kLongest));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

void RemainingTime::Start(double part, Clock::time_point now) {
  is_known_ = true;
  start_ = updated_ = now;
  first_ = part_ = part;
}

void RemainingTime::Update(std::optional<double> part, Clock::time_point now) {
  if (!part.has_value()) {
    is_known_ = false;
  } else if (!is_known_) {
    Start(*part, now);
  } else {
    part_ = std::max(part_, *part);
    updated_ = now;
  }
}

std::string RemainingTime::PercentText() const { return fmt::format("{:.0f} %", std::floor(100 * part_)); }

std::string RemainingTime::LeftText(Clock::time_point now) const {
  const double progress = part_ - first_, seconds = SecondsOf(updated_ - start_);
  if (!is_known_ || progress < kLeastPart || seconds < kLeastSeconds) return "";
  const double rest = (1 - part_) / progress;  // The remaining part relative to the measured one.
  double left = seconds * rest - SecondsOf(now - updated_);
  // A step may take longer than expected.
  if (left < 0) left = SecondsOf(now - start_) * rest;
  return fmt::format(", {} left", DurationText(left));
}

}  // namespace hlo
