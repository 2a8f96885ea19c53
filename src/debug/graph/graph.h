#pragma once
// Draws modules as graphs: DOT for Graphviz, and the data of the interactive page.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "debug/diff/diff.h"
#include "debug/exposed_run.h"
#include "debug/statistics.h"
#include "hlo_run/io.h"
#include "hlo_run/module.h"
#include "nlohmann/json.hpp"

namespace hlo::debug {

// The facts of a recorded array that the page shows.
struct ValueFacts {
  ArrayStatistics statistics;
  std::string first;  // The first elements.
  std::vector<int64_t> histogram;
  // The first slices over the last two dimensions, reduced to `rows` x `columns`: bytes 0 to 254 from the
  // minimum to the maximum; 255 where an element is not finite.
  int64_t rows = 0, columns = 0;
  std::vector<std::string> slice_names, slices;
};
ValueFacts FactsOf(const Literal& array);

struct InstructionFacts {
  std::optional<ValueFacts> value;
  double seconds = 0;           // The time in a profile.
  std::optional<double> error;  // The largest error of a recorded value, relative to its largest element.
};
using GraphFacts = absl::flat_hash_map<const Instruction*, InstructionFacts>;

// Runs the module and calls `see` with the values of the array instructions of the entry computation and of
// fusions and calls within it. Those of loops and conditionals are seen at their first execution. If there
// are several devices, the values are those of the watched one.
absl::Status ForEachValue(const CheckedModule& module, const WatchedArguments& arguments,
                          const DiffOptions& options,
                          const std::function<void(const Instruction&, const Literal&)>& see);
// Sets the errors of the instructions whose values another system recorded.
void AddErrors(Archive& recorded, const Instruction& instruction, const Literal& value,
               InstructionFacts& facts);

nlohmann::ordered_json GraphJson(const Module& module, const GraphFacts& facts);

// Returns the module in the language of Graphviz: each computation is a cluster.
std::string GraphDot(const Module& module, const GraphFacts& facts);

}  // namespace hlo::debug
