#pragma once
// The uses of the values of a graph.

#include <cstdint>
#include <vector>

#include "plan/graph.h"

namespace hlo::plan {

// The users of each value.
class Uses {
 public:
  explicit Uses(const Graph& graph);
  struct Use {
    const Node*
        node;  // nullptr: a result of the graph, a loop predicate, a next state, or the result of a branch.
    int32_t operand;
  };
  const std::vector<Use>& of(ValueId v) const { return uses_[v]; }

 private:
  std::vector<std::vector<Use>> uses_;
};

}  // namespace hlo::plan
