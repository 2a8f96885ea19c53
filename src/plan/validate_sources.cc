#include "plan/validate_sources.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "fmt/format.h"

namespace hlo::plan {

std::string NameOf(const Graph& graph, ValueId value) {
  if (value == kNoValue) return "a token";
  const Value& v = graph.values[value];
  if (v.node != nullptr) return fmt::format("'{}'", v.node->instruction->name());
  if (v.parameter >= 0) return fmt::format("argument {}", v.parameter);
  return fmt::format("constant {}", value);
}

namespace {

// An operand that the node's value may not depend on, by what its shapes and attributes say.
bool IsOptional(const Node& node) {
  const Opcode opcode = node.instruction->opcode();
  return opcode == Opcode::kPad || opcode == Opcode::kConcatenate || opcode == Opcode::kGather;
}
// The array that a window is written to, which the walk over memory looks for.
bool IsBase(const Node& node, size_t operand) {
  const Opcode opcode = node.instruction->opcode();
  return operand == 0 && (opcode == Opcode::kDynamicUpdateSlice || opcode == Opcode::kScatter);
}

class SourceCheck {
 public:
  SourceCheck(const Graph& graph, absl::Span<const ValueId> reads, absl::Span<const ValueId> writes)
      : graph_(graph), reads_(reads.begin(), reads.end()), writes_(writes) {}

  std::optional<std::string> Run() {
    for (const ValueId v : writes_) {
      const Node* node = graph_.values[v].node;
      if (node == nullptr || node->kind != Node::Kind::kOp)
        return fmt::format("{} is not computed by an instruction", NameOf(graph_, v));
      if (block_ != nullptr && node->block != block_)
        return fmt::format("{} belongs to another computation", NameOf(graph_, v));
      block_ = node->block;
      Visit(*node);
      if (problem_.has_value()) return problem_;
    }
    for (const ValueId v : reads_) {
      if (!used_.contains(v)) return fmt::format("no result needs {}, which is read", NameOf(graph_, v));
    }
    return std::nullopt;
  }

 private:
  struct Visited {
    const Node* node;
    bool is_needed;  // Not only by optional operands.
    bool operator==(const Visited&) const = default;
    template <class H>
    friend H AbslHashValue(H h, const Visited& v) {
      return H::combine(std::move(h), v.node, v.is_needed);
    }
  };

  void Visit(const Node& root) {
    std::vector<Visited> stack = {{&root, true}};
    while (!stack.empty() && !problem_.has_value()) {
      const auto [node, is_needed] = stack.back();
      stack.pop_back();
      if (!visited_.insert({node, is_needed}).second) continue;
      for (size_t i = 0; i < node->operands.size(); ++i) {
        if (node->operands[i] == kNoValue) continue;
        const ValueId v = graph_.Resolve(node->operands[i]);
        if (reads_.contains(v)) {
          used_.insert(v);
          continue;
        }
        if (IsBase(*node, i)) continue;
        const Node* producer = graph_.values[v].node;
        const bool can_be_inside = producer != nullptr && producer->kind == Node::Kind::kOp &&
                                   producer->block == block_ && !producer->has_effect;
        const bool needs_operand = is_needed && !IsOptional(*node);
        if (can_be_inside)
          stack.push_back({producer, needs_operand});
        else if (needs_operand)
          problem_ = fmt::format("'{}' needs {}, which the step does not read", node->instruction->name(),
                                 NameOf(graph_, v));
      }
    }
  }

  const Graph& graph_;
  absl::flat_hash_set<ValueId> reads_, used_;
  absl::Span<const ValueId> writes_;
  absl::flat_hash_set<Visited> visited_;
  const Block* block_ = nullptr;
  std::optional<std::string> problem_;
};

// Kernels and reference functions take the operands of one node, in order.
template <class Leaves>
std::optional<std::string> CheckNode(const Graph& graph, const Node& node, const Leaves& step,
                                     absl::Span<const ValueId> reads, absl::Span<const ValueId> writes) {
  const auto differs = [&](const std::vector<ValueId>& wanted, const std::vector<Slot>& slots,
                           absl::Span<const ValueId> values, bool may_drop) {
    if (slots.size() != wanted.size()) return true;
    size_t next = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i] < 0) {
        if (wanted[i] != kNoValue && !may_drop) return true;
        continue;
      }
      if (wanted[i] == kNoValue || next >= values.size() || values[next++] != graph.Resolve(wanted[i]))
        return true;
    }
    return next != values.size();
  };
  if (differs(node.operands, step.operands, reads, false)) return "its operands are not those of the graph";
  if (differs(node.results, step.results, writes, true)) return "its results are not those of the graph";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> CheckSources(const Graph& graph, const Step& step, absl::Span<const ValueId> reads,
                                        absl::Span<const ValueId> writes) {
  const auto* kernel = std::get_if<KernelStep>(&step.what);
  const auto* reference = std::get_if<ReferenceStep>(&step.what);
  if (kernel == nullptr && reference == nullptr) return SourceCheck(graph, reads, writes).Run();
  if (step.node == nullptr || step.node->instruction != step.instruction)
    return "it is the step of no instruction";
  return kernel != nullptr ? CheckNode(graph, *step.node, *kernel, reads, writes)
                           : CheckNode(graph, *step.node, *reference, reads, writes);
}

}  // namespace hlo::plan
