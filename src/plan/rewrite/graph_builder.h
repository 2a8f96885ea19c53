#pragma once
// Adds nodes, blocks and values to a graph.

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/custom_calls.h"
#include "plan/graph.h"
#include "plan/rewrite/forwarding.h"
#include "reference/program.h"

namespace hlo::plan {

class GraphBuilder {
 public:
  // `custom_calls` are the user's; nullptr if there are none.
  GraphBuilder(const reference::Effects& effects, const CustomCalls* custom_calls, Graph& graph)
      : effects_(effects), custom_calls_(custom_calls), graph_(graph) {}

  Block* NewBlock(Block* parent, Node* owner);
  // The node belongs to the block, but is not yet one of its nodes.
  Node* NewNode(Node::Kind kind, const Instruction& instruction, Block* block);
  // Returns a new value for every leaf, which the node computes; an input if it is nullptr.
  Leaves NewLeaves(const Shape& shape, Node* node);
  // Appends a node for an instruction whose result has the given shape.
  Node* AddOp(const Instruction& instruction, const Shape& shape, Leaves operands, Block* block);

  // The literal must outlive the graph.
  Leaves Constant(const Literal& literal);
  // Returns kNoValue for tokens.
  absl::StatusOr<ValueId> Zeros(const Shape& shape);
  // Returns the leaves that an instruction forwards; nullopt if an operand's value has another type than the
  // result declares.
  absl::StatusOr<std::optional<Leaves>> Forward(const Shape& shape, const std::vector<LeafSource>& sources,
                                                const std::vector<Leaves>& operands);

  // Marks the nodes from number `first` on as the replacement of an instruction, and names its leaves.
  void SetReplaced(const Instruction& instruction, size_t first, const Leaves& leaves);

  bool IsDynamic(ValueId v) const;
  bool HasDynamic(const Leaves& leaves) const;
  bool HasDynamic(const std::vector<Leaves>& operands) const;
  bool IsUserCustomCall(const Instruction& instruction) const;

 private:
  void AppendLeaves(const Shape& shape, Node* node, Leaves* leaves);
  void AppendConstant(const Literal& literal, Leaves* leaves);
  bool HasType(ValueId v, const Shape& leaf) const;

  const reference::Effects& effects_;
  const CustomCalls* custom_calls_;
  Graph& graph_;
};

// Returns the leaves of all operands, in order.
Leaves Concatenated(const std::vector<Leaves>& parts);

}  // namespace hlo::plan
