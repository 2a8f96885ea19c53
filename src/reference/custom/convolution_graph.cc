#include "reference/custom/convolution_graph.h"

#include <algorithm>

#include "absl/strings/str_split.h"
#include "base/counted.h"
#include "fmt/format.h"
#include "reference/custom/pointwise.h"

namespace hlo::reference::custom {

std::optional<std::vector<GraphNode>> ReadGraph(const std::string& text) {
  constexpr size_t kMaxNodes = 1000;
  std::vector<GraphNode> nodes;
  for (const absl::string_view item : absl::StrSplit(text, ';', absl::SkipWhitespace())) {
    const std::string_view node(item.data(), item.size());
    const size_t colon = node.find(":["), bracket = node.find(']'), open = node.find('('),
                 close = node.rfind(')');
    if (close == std::string_view::npos || !(colon < bracket && bracket < open && open < close))
      return std::nullopt;
    if (nodes.size() == kMaxNodes) return std::nullopt;
    GraphNode& next = nodes.emplace_back();
    next.uid = std::string(node.substr(0, colon));
    next.op = std::string(node.substr(bracket + 1, open - bracket - 1));
    const std::optional<ElementType> type = ParseElementType(node.substr(colon + 2, bracket - colon - 2));
    if (!type || !IsFloat(*type)) return std::nullopt;
    next.type = *type;
    const std::string inputs(node.substr(open + 1, close - open - 1));
    for (const absl::string_view uid : absl::StrSplit(inputs, ',', absl::SkipWhitespace()))
      next.inputs.emplace_back(uid.data(), uid.size());
  }
  return nodes;
}

std::string Wire(const Instruction& call, const std::vector<GraphNode>& nodes, absl::Span<const int64_t> dims,
                 int64_t feature, std::vector<Wiring>* wirings) {
  int next = 2;
  const auto known = [&](const std::string& uid) {
    return std::any_of(wirings->begin(), wirings->end(), [&](const Wiring& w) { return w.node->uid == uid; });
  };
  for (const GraphNode& node : nodes) {
    Wiring wiring{&node, "", "", -1};
    if (node.op == "conv") {
      if (!wirings->empty()) return "its graph has a convolution that is not the first operation";
      wirings->push_back(wiring);
      continue;
    }
    if (!node.TakesTwo() && node.op != "relu" && node.op != "amax")
      return fmt::format(
          "the operation '{}' of its graph is not known; known are conv, add, scale, invscale, relu "
          "and amax",
          node.op);
    for (const std::string& uid : node.inputs) {
      if (known(uid)) (wiring.input.empty() ? wiring.input : wiring.other) = uid;
    }
    if (wiring.input.empty()) return fmt::format("the operation '{}' of its graph has no input", node.op);
    if (node.TakesTwo() && wiring.other.empty()) {
      if (next >= call.operand_count())
        return fmt::format("the operation '{}' of its graph has no operand", node.op);
      wiring.operand = next++;
      const Shape& shape = call.operand(wiring.operand)->shape();
      if (!CanBroadcastTo(shape, dims, feature))
        return fmt::format("operand {} is {}, which '{}' cannot apply to the convolution", wiring.operand,
                           ToString(shape), node.op);
    }
    wirings->push_back(wiring);
  }
  if (wirings->empty()) return "its graph has no convolution";
  return next == call.operand_count() ? ""
                                      : fmt::format("its graph takes {}, but it has {}",
                                                    Counted(next, "operand"), call.operand_count());
}

}  // namespace hlo::reference::custom
