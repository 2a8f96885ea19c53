#pragma once
// Counted loops: a counter advances from one number to another in equal steps, nothing else ends the loop,
// and the trip count is known before the first iteration.

#include <cstdint>
#include <optional>

#include "plan/plan.h"

namespace hlo::plan {

// Returns nullopt if the loop is not a counted one.
std::optional<CountedLoop> FindCountedLoop(const Graph& graph, const Node& loop);

// Returns nullopt if the counter would leave the range of its type first.
std::optional<int64_t> TripCount(const CountedLoop& loop, int64_t first, int64_t limit);

}  // namespace hlo::plan
