#pragma once
// Finds the elements of the states of two loops that are the same values, also if a pass changed the states.

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "debug/extract/flat_module.h"
#include "hlo_run/literal.h"
#include "ir/leaf_flow.h"

namespace hlo::debug {

class Alignment;

// Two loops that compute the same values. Elements of nested tuples are leaves of the states.
struct LoopPair {
  const Instruction* a;
  const Instruction* b;
  std::vector<std::pair<int64_t, int64_t>> leaves;  // The leaves that correspond, in the order of `a`.
  // Those that only one of the loops changes. They are compared, but not equal at the start of an iteration.
  std::vector<std::pair<int64_t, int64_t>> one_sided;

  std::optional<int64_t> LeafOfB(int64_t leaf_of_a) const;
  // True if the states have the same leaves in the same order.
  bool IsIdentity() const;
};

// The leaves of a loop's states before its first iterations.
using LoopStates = std::vector<std::vector<Literal>>;
// Runs the first iterations of a loop of `a` or `b`; returns no states if that fails.
using FirstStates = std::function<LoopStates(const Instruction& loop, bool is_a)>;

// Matches the leaves of two loops by aligned users, initial values and updates. Leaves for which these do not
// decide are matched by the values of the first iterations, unless `first_states` is null.
LoopPair MatchStates(const Alignment& alignment, const Instruction& a, const Instruction& b,
                     const FirstStates& first_states);

}  // namespace hlo::debug
