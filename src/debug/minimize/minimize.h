#pragma once
// Reduces a module and its inputs as long as a judge accepts the result.

#include <atomic>
#include <functional>
#include <string>

#include "debug/extract/test_case.h"
#include "debug/minimize/case_judge.h"

namespace hlo::debug {

struct MinimizeOptions {
  int jobs = 0;  // The number of candidates that are judged concurrently; 0 means one per core.
  std::string
      folder;  // Keeps the smallest case and the progress; a later call with the same judge continues.
  double max_seconds =
      0;  // The time limit, after which the smallest case so far is the result; 0 means none.
  const std::atomic<bool>* cancel = nullptr;       // Once it is set, the smallest case so far is the result.
  std::function<void(const std::string&)> report;  // Called with a line about each smaller case.
};

struct MinimizeResult {
  SharedCase test;
  CaseSize before;
  int64_t judged = 0, accepted = 0;
  bool is_resumed = false, is_finished = true;
};

// Fails if the judge does not accept the given case.
absl::StatusOr<MinimizeResult> Minimize(const SharedCase& original, const CaseJudge& judge,
                                        const MinimizeOptions& options = {});

}  // namespace hlo::debug
