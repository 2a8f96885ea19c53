#pragma once
// Finds the compiler passes that change the results, in a folder of dumps.

#include <functional>
#include <string>
#include <vector>

#include "debug/diff/diff.h"

namespace hlo::debug {

// The dumps of one module in pass order.
struct DumpSeries {
  std::string module;
  std::vector<std::string> files;
};
// Groups dump files by module and sorts them by pass: before the optimisations, the numbered passes, after
// them.
std::vector<DumpSeries> SortDumps(const std::vector<std::string>& files);

struct PassChange {
  std::string before, after;  // The files between which the results change.
  DiffResult diff;
};
struct PassDiff {
  std::string module;
  int64_t compared = 0;   // The number of dumps that ran and whose text differs from the previous one.
  int64_t unchanged = 0;  // The number of dumps with the same text as the previous one.
  std::vector<std::string> skipped;  // Dumps that cannot run, with the reason.
  std::vector<PassChange> changes;
  bool is_complete = true;  // False if the runs were cancelled before the last dump.
};
// A module of a file, and its arguments; equal for all files of a series.
struct LoadedDump {
  CheckedModule module;
  std::string text;
  std::vector<Literal> arguments;
};
using LoadDump = std::function<absl::StatusOr<LoadedDump>(const std::string& file)>;
// Returns what is known so far once `options` cancels the runs.
absl::StatusOr<PassDiff> DiffPasses(const DumpSeries& series, const LoadDump& load,
                                    const DiffOptions& options);

}  // namespace hlo::debug
