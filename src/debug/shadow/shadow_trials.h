#pragma once
// Trials: evaluations in which each instruction errs by its own bound, with a random sign.

#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "debug/shadow/shadow_rules.h"

namespace hlo::debug {

// Pseudorandom signs, which are the same in every run.
class TrialSigns {
 public:
  double Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    // A branch on a random sign is mispredicted every other time.
    return std::copysign(1.0, static_cast<double>(static_cast<int64_t>(state_)));
  }

 private:
  uint64_t state_ = 0x9e3779b97f4a7c15u;
};

// Sets the trials of a result from those of the operands and from the instruction's own error.
absl::Status SetTrials(const RuleContext& context, TrialSigns& signs, ShadowValue& result);

// Adds the own error of the context to the trials of a leaf, which are its wide values if it has none.
absl::Status PerturbTrials(const RuleContext& context, TrialSigns& signs, ShadowValue& leaf);

// Reduces the bounds of the leaves to a multiple of the largest distance of a trial.
absl::Status TightenByTrials(ShadowValue& result);

}  // namespace hlo::debug
