#pragma once
// Shrinks failing modules.

#include <functional>
#include <string>

#include "judge.h"

namespace hlo::fuzz {

struct Find {
  std::string text;
  uint64_t seed = 0;  // Seed of the arguments.
  Verdict verdict;
};
// Returns the smallest module found in `seconds` that fails in the same way: wrong values, a wrong status, a
// crash or a hang. `judge` runs a candidate.
Find Shrink(const Find& find, double seconds, const std::function<Verdict(const std::string&)>& judge);

}  // namespace hlo::fuzz
