#pragma once
// Equality of instructions, and of loops and conditionals, up to the values that they read.

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "plan/graph.h"

namespace hlo::plan {

// Compares all attributes that affect results. Returns false for those that cannot be compared.
bool HaveSameAttributes(const Instruction& a, const Instruction& b);

// Returns true if two operations with equal opcodes and operands have equal results. Bitcasts depend on the
// layouts, which shapes include.
bool ComputeTheSame(const Graph& graph, const Node& a, const Node& b);

// Compares two loops or conditionals whose blocks hold the same nodes in the same order.
class ControlFlowComparison {
 public:
  // `first` returns the value that stands for all values that equal a given one.
  ControlFlowComparison(const Graph& graph, absl::FunctionRef<ValueId(ValueId)> first)
      : graph_(graph), first_(first) {}

  // Returns true if b has no side effects and computes the results of a.
  bool AreEqual(const Node& a, const Node& b);

 private:
  bool AreEqual(const Block& a, const Block& b);
  bool AreSame(ValueId a, ValueId b) const;
  bool AreSame(const std::vector<ValueId>& a, const std::vector<ValueId>& b) const;
  bool HaveSameBlocks(const Node& a, const Node& b);
  void Match(const Node& a, const Node& b);

  const Graph& graph_;
  absl::FunctionRef<ValueId(ValueId)> first_;
  absl::flat_hash_map<ValueId, ValueId> match_;  // From values inside b to those inside a.
};

}  // namespace hlo::plan
