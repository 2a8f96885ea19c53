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

  // Returns an error if a result does not follow from the values that the step reads, or if its nodes are not
  // in nested blocks. All values are resolved. A step may read more than its results need if shapes have no
  // elements.
  std::optional<std::string> Check(const Step& step, absl::Span<const ValueId> reads,
                                   absl::Span<const ValueId> writes);

 private:
  // The number of the last check in which the value was read, visited, or visited through optional operands
  // only.
  struct Marks {
    int32_t read = 0, visited = 0, visited_optional = 0;
  };
  struct Visit {
    const Node* node;
    ValueId value;
    bool is_needed;  // False if only optional operands need it.
  };

  std::optional<std::string> CheckNode(const Node& root, ValueId value);

  const Graph& graph_;
  std::vector<Marks> marks_;  // Indexed by value.
  std::vector<Visit> stack_;
  int32_t check_ = 0;
};

// Returns "'name'" of the instruction that computes the value, or names the parameter or constant.
std::string NameOf(const Graph& graph, ValueId value);

}  // namespace hlo::plan
