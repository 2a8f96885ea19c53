#include "plan/analysis/equality.h"

#include <algorithm>
#include <concepts>
#include <ranges>

#include "plan/analysis/node_traits.h"

namespace hlo::plan {
namespace {

bool IsEqual(const SliceRange& a, const SliceRange& b) {
  return a.start == b.start && a.limit == b.limit && a.stride == b.stride;
}
bool IsEqual(const PaddingDim& a, const PaddingDim& b) {
  return a.low == b.low && a.high == b.high && a.interior == b.interior;
}
bool IsEqual(const Json& a, const Json& b) { return a.text == b.text; }
bool IsEqual(const Shape* const& a, const Shape* const& b) { return *a == *b; }
bool IsEqual(const OutputOperandAlias& a, const OutputOperandAlias& b) {
  return a.output_index == b.output_index && a.operand == b.operand && a.operand_index == b.operand_index;
}
// True for the same computation, or for two that apply the same operation to their parameters.
bool IsEqual(Computation* const& a, Computation* const& b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr) return false;
  const Instruction &x = *a->root(), &y = *b->root();
  if (x.opcode() != y.opcode() || x.operand_count() != 2 || y.operand_count() != 2 ||
      x.shape() != y.shape() || !HaveSameAttributes(x, y))
    return false;
  for (int64_t i = 0; i < 2; ++i) {
    const Instruction &from = *x.operand(i), &to = *y.operand(i);
    if (from.opcode() != Opcode::kParameter || to.opcode() != Opcode::kParameter ||
        from.shape() != to.shape() || from.Get<attr::number>() != to.Get<attr::number>())
      return false;
  }
  return true;
}
template <class T>
bool IsEqual(const T& a, const T& b) {
  if constexpr (std::ranges::range<T>)
    return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return IsEqual(x, y); });
  else if constexpr (std::equality_comparable<T>)
    return a == b;
  else
    return false;
}

// Compares an attribute that both instructions may have. Some do not affect the result.
bool IsEqualAttribute(AttrId id, const Instruction& a, const Instruction& b) {
  switch (id) {
    case AttrId::sharding:
    case AttrId::frontend_attributes:
    case AttrId::statistics:
    case AttrId::control_predecessors:
    case AttrId::origin:
    case AttrId::metadata:
      return true;
    case AttrId::backend_config:
      // Other instructions compute the same with all configurations.
      return a.opcode() != Opcode::kCustomCall ||
             IsEqual(a.Get<attr::backend_config>(), b.Get<attr::backend_config>());
    default:
      break;
  }
  switch (id) {
#define HLO_ATTR(name, spelling, kind) \
  case AttrId::name:                   \
    return IsEqual(a.Get<attr::name>(), b.Get<attr::name>());
#include "hlo_run/attributes.def"
#undef HLO_ATTR
    default:
      return false;
  }
}

}  // namespace

bool HaveSameAttributes(const Instruction& a, const Instruction& b) {
  for (const Instruction* instruction : {&a, &b}) {
    for (const AttrEntry& entry : instruction->attributes()) {
      if (!IsEqualAttribute(entry.id, a, b)) return false;
    }
  }
  return true;
}

bool ComputeTheSame(const Graph& graph, const Node& a, const Node& b) {
  const Instruction &x = *a.instruction, &y = *b.instruction;
  const auto have_same_shape = [&](ValueId v, ValueId w) {
    return v == kNoValue || w == kNoValue ? v == w : graph.values[v].shape == graph.values[w].shape;
  };
  if (!std::ranges::equal(a.results, b.results, have_same_shape) || !HaveSameAttributes(x, y)) return false;
  if (x.opcode() != Opcode::kBitcast) return true;
  return x.shape() == y.shape() && x.operand(0)->shape() == y.operand(0)->shape();
}

bool ControlFlowComparison::AreSame(ValueId a, ValueId b) const {
  if (a == kNoValue || b == kNoValue) return a == b;
  a = graph_.Resolve(a);
  b = graph_.Resolve(b);
  const auto found = match_.find(b);
  return found != match_.end() ? found->second == a : first_(a) == first_(b);
}

bool ControlFlowComparison::AreSame(const std::vector<ValueId>& a, const std::vector<ValueId>& b) const {
  return std::ranges::equal(a, b, [&](ValueId v, ValueId w) { return AreSame(v, w); });
}

void ControlFlowComparison::Match(const Node& a, const Node& b) {
  for (size_t i = 0; i < a.results.size(); ++i) {
    if (b.results[i] != kNoValue) match_[b.results[i]] = a.results[i];
  }
}

bool ControlFlowComparison::HaveSameBlocks(const Node& a, const Node& b) {
  return std::ranges::equal(a.blocks, b.blocks,
                            [&](const Block* x, const Block* y) { return AreEqual(*x, *y); });
}

bool ControlFlowComparison::AreEqual(const Block& a, const Block& b) {
  return std::ranges::equal(a.nodes, b.nodes, [&](const Node* x, const Node* y) { return AreEqual(*x, *y); });
}

bool ControlFlowComparison::AreEqual(const Node& a, const Node& b) {
  // Calls of the user's functions may depend on more than their operands.
  const Opcode opcode = a.instruction->opcode();
  if (a.kind != b.kind || opcode != b.instruction->opcode() || opcode == Opcode::kCustomCall ||
      a.has_effect || b.has_effect || a.needs_reference || b.needs_reference ||
      Info(opcode).has(kCollective) || !AreSame(a.operands, b.operands))
    return false;
  switch (a.kind) {
    case Node::Kind::kOp:
      if (!ComputeTheSame(graph_, a, b)) return false;
      Match(a, b);
      return true;
    case Node::Kind::kWhile:
      Match(a, b);
      return HaveSameBlocks(a, b) && AreSame(a.predicate, b.predicate) && AreSame(a.next, b.next);
    case Node::Kind::kConditional:
      if (!HaveSameBlocks(a, b) ||
          !std::ranges::equal(a.branch_results, b.branch_results,
                              [&](const auto& x, const auto& y) { return AreSame(x, y); }))
        return false;
      Match(a, b);
      return true;
  }
  return false;
}

}  // namespace hlo::plan
