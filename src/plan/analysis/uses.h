#pragma once
// The uses of the values of a graph.

#include <cstdint>
#include <vector>

#include "plan/graph.h"

namespace hlo::plan {

// How often and where each value is used.
class Uses {
 public:
  explicit Uses(const Graph& graph);
  struct Use {
    const Node* node;  // nullptr: the root's value, a predicate, a next state, a branch's result.
    int32_t operand;
  };
  const std::vector<Use>& of(ValueId v) const { return uses_[v]; }

 private:
  std::vector<std::vector<Use>> uses_;
};

}  // namespace hlo::plan
