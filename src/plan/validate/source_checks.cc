#include "plan/validate/source_checks.h"

#include <utility>

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

// True if shapes and attributes may make the value independent of some operands.
bool HasOptionalOperands(const Node& node) {
  const Opcode opcode = node.instruction->opcode();
  return opcode == Opcode::kPad || opcode == Opcode::kConcatenate || opcode == Opcode::kGather;
}
// True for the array that a window is written to, which MemoryModel tracks.
bool IsBase(const Node& node, size_t operand) {
  const Opcode opcode = node.instruction->opcode();
  return operand == 0 && (opcode == Opcode::kDynamicUpdateSlice || opcode == Opcode::kScatter);
}

// Returns true if `outer` is `inner` or encloses it: its values do not change while `inner` runs.
bool Encloses(const Block* outer, const Block* inner) {
  while (inner != nullptr && inner != outer) inner = inner->parent;
  return inner != nullptr;
}

// Kernels and reference functions take the operands of one node, in order.
template <class Leaves>
std::optional<std::string> CheckLeaves(const Graph& graph, const Node& node, const Leaves& step,
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

std::optional<std::string> SourceChecker::CheckNode(const Node& root, ValueId value) {
  stack_.assign(1, {&root, value, true});
  while (!stack_.empty()) {
    const auto [node, of, is_needed] = stack_.back();
    stack_.pop_back();
    int32_t& visited = is_needed ? marks_[of].visited : marks_[of].visited_optional;
    if (std::exchange(visited, check_) == check_) continue;
    const bool needs_operands = is_needed && !HasOptionalOperands(*node);
    for (size_t i = 0; i < node->operands.size(); ++i) {
      if (node->operands[i] == kNoValue) continue;
      const ValueId v = graph_.Resolve(node->operands[i]);
      if (marks_[v].read == check_ || IsBase(*node, i)) continue;
      const Node* producer = graph_.values[v].node;
      const bool can_be_inside = producer != nullptr && producer->kind == Node::Kind::kOp &&
                                 Encloses(producer->block, root.block) && !producer->has_effect;
      if (can_be_inside)
        stack_.push_back({producer, v, needs_operands});
      else if (needs_operands)
        return fmt::format("'{}' needs {}, which the step does not read", node->instruction->name(),
                           NameOf(graph_, v));
    }
  }
  return std::nullopt;
}

std::optional<std::string> SourceChecker::Check(const Step& step, absl::Span<const ValueId> reads,
                                                absl::Span<const ValueId> writes) {
  const auto* kernel = std::get_if<KernelStep>(&step.what);
  const auto* reference = std::get_if<ReferenceStep>(&step.what);
  if (kernel != nullptr || reference != nullptr) {
    if (step.node == nullptr || step.node->instruction != step.instruction)
      return "it is the step of no instruction";
    return kernel != nullptr ? CheckLeaves(graph_, *step.node, *kernel, reads, writes)
                             : CheckLeaves(graph_, *step.node, *reference, reads, writes);
  }
  ++check_;
  for (const ValueId v : reads) marks_[v].read = check_;
  const Block* block = nullptr;
  for (const ValueId v : writes) {
    const Node* node = graph_.values[v].node;
    if (node == nullptr || node->kind != Node::Kind::kOp)
      return fmt::format("{} is not computed by an instruction", NameOf(graph_, v));
    // Hoisted nodes are computed with those of the enclosing block.
    if (block != nullptr && !Encloses(block, node->block) && !Encloses(node->block, block))
      return fmt::format("{} belongs to another computation", NameOf(graph_, v));
    if (block == nullptr || Encloses(block, node->block)) block = node->block;
    if (auto problem = CheckNode(*node, v)) return problem;
  }
  return std::nullopt;
}

}  // namespace hlo::plan
