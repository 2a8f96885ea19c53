#pragma once
// Random changes of finished plans, as a bug of the planner would make them.

#include <random>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace hlo::test {

// The names of the kinds of mutation, by number.
absl::Span<const std::string_view> MutationNames();

// Changes `plan.steps`, `plan.buffers` or `plan.results` in one place; false where the plan has no place for
// the kind.
bool Mutate(int kind, std::mt19937_64& random, plan::Plan& plan);

}  // namespace hlo::test
