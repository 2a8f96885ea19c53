#pragma once
// Where is a long run? A line on the terminal, rewritten a few times a second, once the run has lasted for a
// second.

#include <chrono>
#include <cstdint>
#include <cstdio>

#include "hlo_run/observer.h"

namespace hlo {

class Progress : public Observer {
 public:
  // `terminal` must be one; the caller has looked.
  explicit Progress(std::FILE* terminal)
      : terminal_(terminal), start_(Clock::now()), next_(start_ + kDelay) {}
  bool needs_inner_steps() const override { return false; }
  absl::Status BeforeStep(const StepView& step) override;
  void Finish(const absl::Status& outcome) override;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kDelay{1000};
  static constexpr std::chrono::milliseconds kInterval{200};

  std::FILE* terminal_;
  Clock::time_point start_;
  Clock::time_point next_;
  int64_t steps_ = 0;
  bool shown_ = false;
};

}  // namespace hlo
