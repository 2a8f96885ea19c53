#pragma once
// Checks that a step computes its results from the values that the graph names.

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "plan/plan.h"

namespace hlo::plan {

// What is wrong with a step that reads and writes these values (resolved), or nothing: results that do not
// follow from what is read, reads that no result needs, nodes of other blocks.
std::optional<std::string> CheckSources(const Graph& graph, const Step& step, absl::Span<const ValueId> reads,
                                        absl::Span<const ValueId> writes);

// "'name'" of the instruction that computes the value, or the parameter or constant that it is.
std::string NameOf(const Graph& graph, ValueId value);

}  // namespace hlo::plan
