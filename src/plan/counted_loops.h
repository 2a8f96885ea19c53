#pragma once
// Loops whose number of turns is known before their first one: a counter goes from one number to another in
// equal steps, and nothing else ends them.

#include <cstdint>
#include <optional>

#include "hlo_run/attribute.h"
#include "hlo_run/element_type.h"
#include "plan/graph.h"

namespace hlo::plan {

// The loop goes on while `counter direction limit`, and every turn adds `step`. Value numbers, which become
// slots as those of steps do.
struct CountedLoop {
  ValueId counter = kNoValue;  // Of the state.
  ValueId limit = kNoValue;    // No turn changes it.
  // Where they are constants.
  std::optional<int64_t> first_value, limit_value;
  int64_t step = 0;
  ElementType type = ElementType::kS32;
  ComparisonDirection direction = ComparisonDirection::kLt;
};

// nullopt: it is not of that kind.
std::optional<CountedLoop> FindCountedLoop(const Graph& graph, const Node& loop);

// nullopt where the counter would leave its type's range first.
std::optional<int64_t> TurnsOf(const CountedLoop& loop, int64_t first, int64_t limit);

}  // namespace hlo::plan
