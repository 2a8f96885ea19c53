#pragma once
// Reports the values of selected instructions while a module runs.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "debug/exposed_run.h"
#include "debug/summary.h"
#include "hlo_run/execute.h"

namespace hlo::debug {

// One array of one execution of a selected instruction.
struct TraceRecord {
  const Instruction* instruction = nullptr;
  bool has_unique_name = true;  // False if instructions of other computations have the same name.
  int64_t leaf = 0;
  int64_t execution = 1;           // Counts the recorded executions of the instruction from 1.
  std::vector<RunningLoop> loops;  // Outermost first.
  std::string_view kernel;
  Literal value;
};
// Returns the name of a record in archives, such as `add.3`. `add.3.1` is leaf 1 of a tuple, and `add.3@2` is
// iteration 2 of a loop. `add.3@4.2` is iteration 2 in iteration 4 of the outer loop, and `add.3#5` is the
// fifth execution in the same iteration. A name that is not unique follows that of its computation, as in
// `body/add.3`.
std::string KeyOf(const TraceRecord& record);
// Prints the first line of a record, without its value.
std::string HeadingOf(const TraceRecord& record);

struct TraceOptions {
  absl::flat_hash_set<const Instruction*> selected;
  // The iterations of the innermost loops, outermost first; empty selects all iterations.
  std::vector<int64_t> iteration;
  int64_t max_records = 1000;
};

// Parses `3` or `2.3`, the iterations of the innermost loops.
absl::StatusOr<std::vector<int64_t>> ParseIteration(std::string_view text);

struct TraceOutcome {
  Literal result;
  int64_t left_out = 0;  // The number of records beyond max_records.
  // True if there are more of them: a run by the reference ends at max_records, and does not start beyond it.
  bool has_more = false;
  // The last iteration of the innermost loops in which selected instructions ran, before iterations are
  // selected; 0 if none ran in a loop.
  int64_t last_iteration = 0;
  // Selected instructions that did not run.
  std::vector<const Instruction*> missing;
};

// Runs the module and calls `sink` for each record in order of execution. Instructions that the fast engine
// does not compute by themselves, such as those of reducers, are traced in a second run by the reference.
absl::StatusOr<TraceOutcome> Trace(const CheckedModule& module, const WatchedArguments& arguments,
                                   Engine engine, const EvaluateOptions& options, const TraceOptions& trace,
                                   const std::function<absl::Status(const TraceRecord&)>& sink);

}  // namespace hlo::debug
