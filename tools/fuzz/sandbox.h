#pragma once
// Runs trials in child processes, so that a crash or a hang is a finding of one module.

#include <cstdint>
#include <functional>

#include "judge.h"

namespace hlo::fuzz {

// Records the current configuration for the parent, in case this process crashes or hangs in it.
void RecordConfig(std::string_view name);

struct SandboxOptions {
  double seconds_for_one = 20;   // A longer trial counts as hanging.
  double seconds_for_all = 1e9;  // No trial starts after this time.
};
// Calls trial(i) for i = first, first + 1, ... until `count` have run or the time is over, and passes each
// verdict to `report` in this process. Returns the number of trials.
int64_t RunTrials(uint64_t first, int64_t count, const SandboxOptions& options,
                  const std::function<Verdict(uint64_t)>& trial,
                  const std::function<void(uint64_t, const Verdict&)>& report);
// Judges a single module.
Verdict JudgeInSandbox(const std::string& text, uint64_t seed, const std::vector<Config>& configs,
                       double seconds = 20);

}  // namespace hlo::fuzz
