#pragma once
// Runs cases and modules with another compiler or runtime, and compares its results with what they should be.

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
  kFailed,    // Other values.
  kCrashed,   // A signal ended the command.
  kTimedOut,  // The command ran longer than allowed.
  kRefused,   // The command ended with another exit status than 0, or wrote no results.
  kSkipped,   // This program cannot tell the right values, or the case expects none.
};
std::string_view Name(AgainstVerdict verdict);

struct AgainstResult {
  std::string path, name;
  int64_t line = 0;
  AgainstVerdict verdict = AgainstVerdict::kPassed;
  std::string report;  // The reason in some lines; for a passed case the largest error, if any.
  double seconds = 0;  // Of the command.
};

struct AgainstOptions {
  std::string command;              // With {hlo}, {inputs} and {outputs}.
  double max_seconds = 60;          // For a run of the command.
  int jobs = 0;                     // Runs at the same time; 0 means one per core.
  MakeOptions make;                 // The random inputs of modules that are no cases.
  std::optional<CompareRule> rule;  // For modules that are no cases.
  Engine engine = Engine::kFast;    // Computes the expected values of modules.
  ElidedValues elided;
  std::string filter;                                // Only cases whose path or name contains this.
  std::function<void(const AgainstResult&)> report;  // Told of each result as it comes.
};

// Runs the cases and the other modules in files and, recursively, in folders. The results are in the order of
// paths.
absl::StatusOr<std::vector<AgainstResult>> CheckAgainst(const std::vector<std::string>& paths,
                                                        const AgainstOptions& options);

std::string AgainstText(const std::vector<AgainstResult>& results);
std::string AgainstJson(const std::vector<AgainstResult>& results, const AgainstOptions& options);
std::string AgainstJUnit(const std::vector<AgainstResult>& results);
// One page without references to others.
std::string AgainstHtml(const std::vector<AgainstResult>& results, const AgainstOptions& options);

}  // namespace hlo::debug
