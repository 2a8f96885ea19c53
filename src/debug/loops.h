#pragma once
// Prints the loops around a step, outermost first.

#include <string>
#include <vector>

#include "hlo_run/observer.h"
#include "nlohmann/json_fwd.hpp"

namespace hlo::debug {

// Returns `, iteration 3 of %while.1` for each loop.
std::string LoopsText(const std::vector<RunningLoop>& loops);
// Returns an array of objects with the keys `loop` and `iteration`.
nlohmann::ordered_json LoopsJson(const std::vector<RunningLoop>& loops);
// Returns the iteration of each loop.
std::vector<int64_t> IterationsOf(const std::vector<RunningLoop>& loops);

}  // namespace hlo::debug
