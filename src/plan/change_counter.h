#pragma once
// Counts the changes that passes make, to find a wrong change by bisection (PlanOptions::pass_limit).

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace hlo::plan {

class ChangeCounter {
 public:
  explicit ChangeCounter(std::optional<int64_t> limit = std::nullopt)
      : limit_(limit.value_or(std::numeric_limits<int64_t>::max())) {}

  // Counts a change and returns true; returns false if the limit is reached. `what` names the instruction.
  bool Allow(std::string_view pass, std::string_view what = "") {
    if (IsAtLimit()) return false;
    ++count_;
    last_pass_ = pass;
    last_what_ = what;
    return true;
  }
  bool IsAtLimit() const { return count_ >= limit_; }
  int64_t count() const { return count_; }
  // Names the last change; empty if there is none.
  std::string Last() const {
    std::string last(last_pass_);
    if (!last_what_.empty()) last.append(" of '").append(last_what_).append("'");
    return last;
  }

 private:
  int64_t limit_, count_ = 0;
  std::string_view last_pass_, last_what_;
};

}  // namespace hlo::plan
