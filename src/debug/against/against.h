#pragma once
// Runs cases and modules with another compiler or runtime, and compares its results with the expected ones.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/compare.h"
#include "hlo_run/conform.h"
#include "hlo_run/execute.h"
#include "hlo_run/io.h"

namespace hlo::debug {

enum class AgainstVerdict : uint8_t {
  kPassed,
  kFailed,    // A result differs.
  kCrashed,   // A signal ended the command.
  kTimedOut,  // The command exceeded the time limit.
  kRefused,   // The command exited with a status other than 0, or wrote no results.
  kSkipped,   // This program cannot compute the expected values, or the case has none.
};
std::string_view Name(AgainstVerdict verdict);

struct AgainstResult {
  std::string path, name;
  int64_t line = 0;
  AgainstVerdict verdict = AgainstVerdict::kPassed;
  std::string report;       // The reason in some lines; for a passed case the largest error, if any.
  double seconds = 0;       // The run time of the command.
  bool cannot_run = false;  // The shell cannot run the command.
};

struct AgainstOptions {
  std::string command;              // Contains {hlo}, {inputs} and {outputs}.
  double max_seconds = 60;          // The time limit for a run of the command.
  int jobs = 0;                     // The number of concurrent runs; 0 means one per core.
  MakeOptions make;                 // The random inputs of modules that are not cases.
  std::optional<CompareRule> rule;  // The tolerance for modules that are not cases.
  Engine engine = Engine::kFast;    // Computes the expected values of modules.
  ElidedValues elided;
  std::string filter;                         // Only cases whose path or name contains this text are run.
  const std::atomic<bool>* cancel = nullptr;  // Once it is set, no further case is run.
  std::function<void(const AgainstResult&)> report;  // Called with each result.
};

// Runs the cases and the other modules in files and, recursively, in folders. The results are in the order of
// paths. Fails if the shell cannot run the command.
absl::StatusOr<std::vector<AgainstResult>> CheckAgainst(const std::vector<std::string>& paths,
                                                        const AgainstOptions& options);

std::string AgainstText(const std::vector<AgainstResult>& results);
std::string AgainstJson(const std::vector<AgainstResult>& results, const AgainstOptions& options);
std::string AgainstJUnit(const std::vector<AgainstResult>& results);
// Returns a self-contained HTML page.
std::string AgainstHtml(const std::vector<AgainstResult>& results, const AgainstOptions& options);

}  // namespace hlo::debug
