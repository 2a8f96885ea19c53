#include "base/deadline.h"

#include <algorithm>

#include "fmt/format.h"

namespace hlo {
namespace {

struct Limit {
  double seconds;
  std::chrono::steady_clock::time_point end;
  const std::atomic<bool>*cancel, *stop;
};

bool IsRaised(const std::atomic<bool>* flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

thread_local std::optional<Limit> limit;

}  // namespace

Deadline::Deadline(double seconds, const std::atomic<bool>* cancel, const std::atomic<bool>* stop)
    : is_outermost_((seconds > 0 || cancel != nullptr || stop != nullptr) && !limit) {
  if (!is_outermost_) return;
  const std::chrono::duration<double> span(seconds > 0 ? std::min(seconds, 1e9) : 1e9);
  const auto ticks = std::chrono::duration_cast<std::chrono::steady_clock::duration>(span);
  limit = {seconds, std::chrono::steady_clock::now() + ticks, cancel, stop};
}

Deadline::~Deadline() {
  if (is_outermost_) limit.reset();
}

bool Deadline::IsSet() { return limit.has_value(); }

absl::Status Deadline::Check() {
  if (!limit) return absl::OkStatus();
  if (IsRaised(limit->cancel) || IsRaised(limit->stop)) return absl::CancelledError("the run was cancelled");
  if (limit->seconds <= 0 || std::chrono::steady_clock::now() <= limit->end) return absl::OkStatus();
  return absl::DeadlineExceededError(fmt::format("the limit of {} {} is reached (see --max-seconds)",
                                                 limit->seconds, limit->seconds == 1 ? "second" : "seconds"));
}

}  // namespace hlo
