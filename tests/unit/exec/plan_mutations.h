#pragma once
// Random mutations of finished plans that imitate planner bugs.

#include <random>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace hlo::test {

// Returns the names of the mutations, by number.
absl::Span<const std::string_view> MutationNames();

// Changes `plan.steps`, `plan.buffers` or `plan.results` in one place. Returns false if the mutation does not
// apply to the plan.
bool Mutate(int kind, std::mt19937_64& random, plan::Plan& plan);

}  // namespace hlo::test
