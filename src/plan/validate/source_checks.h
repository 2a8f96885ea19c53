#pragma once
// Checks that steps compute their results from the values that the graph names.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "plan/plan.h"

namespace hlo::plan {

class SourceChecker {
 public:
  explicit SourceChecker(const Graph& graph) : graph_(graph), marks_(graph.values.size()) {}

  // Returns what is wrong with a step that reads and writes these values (resolved): a result that does not
  // follow from what is read, or a node of a block that is not around the others'. A step may read more than
  // its results need, where shapes have no elements.
  std::optional<std::string> Check(const Step& step, absl::Span<const ValueId> reads,
                                   absl::Span<const ValueId> writes);

 private:
  // The last check in which a value was read by the step, needed by a result, visited, and visited for
  // optional operands alone.
  struct Marks {
    int32_t read = 0, visited = 0, visited_optional = 0;
  };
  struct Visit {
    const Node* node;
    ValueId value;
    bool is_needed;  // Not only by optional operands.
  };

  std::optional<std::string> CheckNode(const Node& root, ValueId value);

  const Graph& graph_;
  std::vector<Marks> marks_;  // By value.
  std::vector<Visit> stack_;
  int32_t check_ = 0;
};

// "'name'" of the instruction that computes the value, or the parameter or constant that it is.
std::string NameOf(const Graph& graph, ValueId value);

}  // namespace hlo::plan
