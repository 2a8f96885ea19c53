#pragma once
// Loops whose number of turns is known before their first one: a counter goes from one number to another in
// equal steps, and nothing else ends them.

#include <cstdint>
#include <optional>

#include "plan/plan.h"

namespace hlo::plan {

// nullopt: it is not of that kind.
std::optional<CountedLoop> FindCountedLoop(const Graph& graph, const Node& loop);

// nullopt where the counter would leave its type's range first.
std::optional<int64_t> TurnsOf(const CountedLoop& loop, int64_t first, int64_t limit);

}  // namespace hlo::plan
