#pragma once
// cuDNN's graph of operations after a convolution: `1:[f32]conv();2:[f32]scale(1);3:[f32]relu(2);`, a list of
// `uid:[type]operation(uids of inputs)`. Further inputs of operations are operands of the call, in order.

#include <optional>
#include <string>
#include <vector>

#include "hlo_run/module.h"

namespace hlo::reference::custom {

struct GraphNode {
  std::string uid, op;
  ElementType type = ElementType::kF32;
  std::vector<std::string> inputs;

  bool TakesTwo() const { return op == "add" || op == "scale" || op == "invscale"; }
};

// Returns nullopt if the text is not such a list or has too many operations.
std::optional<std::vector<GraphNode>> ReadGraph(const std::string& text);

// The inputs of an operation: nodes by uid, or an operand of the call.
struct Wiring {
  const GraphNode* node;
  std::string input, other;  // Uids of nodes; empty if absent.
  int operand = -1;          // Replaces `other`.
};

// Resolves the inputs of all nodes. Returns "" or why they do not fit a result of these sizes with feature
// dimension `feature`.
std::string Wire(const Instruction& call, const std::vector<GraphNode>& nodes, absl::Span<const int64_t> dims,
                 int64_t feature, std::vector<Wiring>* wirings);

}  // namespace hlo::reference::custom
