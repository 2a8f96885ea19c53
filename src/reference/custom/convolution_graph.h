#pragma once
// The text that says what cuDNN does after a convolution: `1:[f32]conv();2:[f32]scale(1);3:[f32]relu(2);`, a
// list of `uid:[type]operation(uids of inputs)`. What an operation takes beyond these are operands of the
// call, in their order.

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

// nullopt where the text is not such a list, or one of very many operations.
std::optional<std::vector<GraphNode>> ReadGraph(const std::string& text);

// Where an operation's values come from: nodes, by their uids, or an operand of the call.
struct Wiring {
  const GraphNode* node;
  std::string input, other;  // Uids of nodes; empty where there is none.
  int operand = -1;          // In place of the other one.
};

// How the nodes hang together; "", or what does not fit a result of these sizes, whose features are dimension
// `feature`.
std::string Wire(const Instruction& call, const std::vector<GraphNode>& nodes, absl::Span<const int64_t> dims,
                 int64_t feature, std::vector<Wiring>* wirings);

}  // namespace hlo::reference::custom
