#include "plan/rewrite/range_analysis.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlo_run/attribute.h"
#include "kernels/cpu/loops/tile_program.h"
#include "plan/analysis/node_traits.h"

namespace hlo::plan {
namespace {

using Wide = __int128;

// Inclusive. A pred is 0 or 1.
struct Range {
  Wide low, high;
  bool operator==(const Range&) const = default;
};

bool IsInteger(const Shape& shape) {
  return shape.IsArray() && *shape.ElementCount() == 1 &&
         (IsPred(shape.type()) || (IsIntegral(shape.type()) && !IsSubByte(shape.type())));
}

Range RangeOf(ElementType type) {
  if (IsPred(type)) return {0, 1};
  const auto bits = static_cast<int>(BitWidth(type));
  return IsSigned(type) ? Range{-(Wide{1} << (bits - 1)), (Wide{1} << (bits - 1)) - 1}
                        : Range{0, (Wide{1} << bits) - 1};
}

Range JoinedRange(const Range& a, const Range& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

// What comparing any numbers of the ranges gives.
Range Compared(ComparisonDirection direction, const Range& a, const Range& b) {
  constexpr Range kFalse = {0, 0}, kTrue = {1, 1}, kEither = {0, 1};
  switch (direction) {
    case ComparisonDirection::kLt:
      return a.high < b.low ? kTrue : a.low >= b.high ? kFalse : kEither;
    case ComparisonDirection::kGe:
      return a.low >= b.high ? kTrue : a.high < b.low ? kFalse : kEither;
    case ComparisonDirection::kGt:
      return Compared(ComparisonDirection::kLt, b, a);
    case ComparisonDirection::kLe:
      return Compared(ComparisonDirection::kGe, b, a);
    default:
      return kEither;
  }
}

bool IsWithinBlock(const Block* inner, const Block* outer) {
  while (inner != nullptr && inner != outer) inner = inner->parent;
  return inner == outer;
}

class Ranges {
 public:
  // At first every state is taken for one that is never negative; those are left for which that holds before
  // the first turn, and after each turn if it holds for all before.
  explicit Ranges(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes) {
      if (node.kind != Node::Kind::kWhile) continue;
      for (const ValueId state : node.results) {
        if (IsInteger(graph.values[state].shape)) counting_.insert(state);
      }
    }
    for (int round = 0; round < kMostRounds; ++round) {
      FindAll();
      if (!EraseOthers()) return;
    }
    counting_.clear();
    FindAll();
  }

  // Of a value as a node of that block reads it.
  Range Of(ValueId v, const Block* block) {
    v = graph_.Resolve(v);
    const Value& value = graph_.values[v];
    if (!IsInteger(value.shape))
      return {std::numeric_limits<int64_t>::min(), std::numeric_limits<uint64_t>::max()};
    const Range all = RangeOf(value.shape.type());
    if (value.constant != nullptr) return OfConstant(*value.constant, all);
    if (value.node == nullptr || value.is_dynamic) return all;
    if (value.node->kind == Node::Kind::kWhile) return OfState(v, *value.node, block, all);
    const auto found = known_.find(v);
    return found != known_.end() ? found->second : all;
  }

 private:
  static constexpr int kMostRounds = 8, kMostConditions = 4;

  // Operands come before their users.
  void FindAll() {
    known_.clear();
    for (const Node& node : graph_.nodes) {
      if (!IsStaticOp(node) || node.results.size() != 1 || node.results[0] == kNoValue) continue;
      const Shape& shape = graph_.values[node.results[0]].shape;
      if (IsInteger(shape)) known_[node.results[0]] = OfOp(node, RangeOf(shape.type()));
    }
  }
  bool EraseOthers() {
    bool changed = false;
    for (const Node& node : graph_.nodes) {
      if (node.kind != Node::Kind::kWhile) continue;
      for (size_t i = 0; i < node.results.size(); ++i) {
        if (Of(node.operands[i], node.block).low < 0 || Of(node.next[i], node.blocks[1]).low < 0)
          changed |= counting_.erase(node.results[i]) > 0;
      }
    }
    return changed;
  }

  static Range OfConstant(const Literal& constant, const Range& all) {
    if (constant.shape().type() == ElementType::kU64) return all;
    const int64_t number = cpu::ReadInteger(constant.shape().type(), constant.data());
    return {number, number};
  }

  Range OfState(ValueId state, const Node& loop, const Block* block, Range range) {
    if (counting_.contains(state)) range.low = std::max<Wide>(range.low, 0);
    // In the body, the loop goes on.
    if (IsWithinBlock(block, loop.blocks[1]))
      range.high = std::min(range.high, Limit(state, loop, loop.predicate, kMostConditions));
    return range;
  }
  // The largest number that the state may be where the predicate holds.
  Wide Limit(ValueId state, const Node& loop, ValueId predicate, int depth) {
    constexpr Wide kNone = std::numeric_limits<uint64_t>::max();
    const Node* node = graph_.values[graph_.Resolve(predicate)].node;
    if (depth == 0 || node == nullptr || !IsStaticOp(*node) || !IsWithinBlock(node->block, loop.blocks[0]))
      return kNone;
    const Instruction& op = *node->instruction;
    if (op.opcode() == Opcode::kAnd)
      return std::min(Limit(state, loop, node->operands[0], depth - 1),
                      Limit(state, loop, node->operands[1], depth - 1));
    if (op.opcode() != Opcode::kCompare || op.Has<attr::type>()) return kNone;
    const ComparisonDirection direction = op.Get<attr::direction>();
    const bool rises = direction == ComparisonDirection::kLt || direction == ComparisonDirection::kLe;
    const bool falls = direction == ComparisonDirection::kGt || direction == ComparisonDirection::kGe;
    const ValueId counter = node->operands[rises ? 0 : 1], limit = node->operands[rises ? 1 : 0];
    if ((!rises && !falls) || graph_.Resolve(counter) != state || !IsInteger(graph_.values[counter].shape))
      return kNone;
    const bool excludes = direction == ComparisonDirection::kLt || direction == ComparisonDirection::kGt;
    return Of(limit, loop.blocks[0]).high - (excludes ? 1 : 0);
  }

  Range OfOp(const Node& node, const Range& all) {
    const auto of = [&](int operand) { return Of(node.operands[operand], node.block); };
    // Integers wrap.
    const auto unless_wrapped = [&](const Range& range) {
      return range.low >= all.low && range.high <= all.high ? range : all;
    };
    const auto least = [&] {
      const Range a = of(0), b = of(1);
      return Range{std::min(a.low, b.low), std::min(a.high, b.high)};
    };
    const auto most = [&] {
      const Range a = of(0), b = of(1);
      return Range{std::max(a.low, b.low), std::max(a.high, b.high)};
    };
    const bool is_pred = all == Range{0, 1};
    switch (node.instruction->opcode()) {
      case Opcode::kAdd: {
        const Range a = of(0), b = of(1);
        return is_pred ? all : unless_wrapped({a.low + b.low, a.high + b.high});
      }
      case Opcode::kSubtract: {
        const Range a = of(0), b = of(1);
        return unless_wrapped({a.low - b.high, a.high - b.low});
      }
      case Opcode::kMinimum:
        return least();
      case Opcode::kMaximum:
        return most();
      case Opcode::kCompare:
        if (!IsInteger(graph_.values[node.operands[0]].shape) || node.instruction->Has<attr::type>())
          return all;
        return Compared(node.instruction->Get<attr::direction>(), of(0), of(1));
      case Opcode::kAnd:
        return is_pred ? least() : all;
      case Opcode::kOr:
        return is_pred ? most() : all;
      case Opcode::kSelect: {
        const Range choice = of(0);
        if (choice.low == choice.high) return of(choice.low == 1 ? 1 : 2);
        return JoinedRange(of(1), of(2));
      }
      case Opcode::kConvert:
        return IsInteger(graph_.values[node.operands[0]].shape) && !is_pred ? unless_wrapped(of(0)) : all;
      case Opcode::kReshape:
        return of(0);
      default:
        return all;
    }
  }

  const Graph& graph_;
  absl::flat_hash_set<ValueId> counting_;  // States that are never negative.
  absl::flat_hash_map<ValueId, Range> known_;
};

}  // namespace

void FoldSelections(Graph& graph) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(),
                   [](const Node& node) { return node.kind == Node::Kind::kWhile; }))
    return;
  Ranges ranges(graph);
  for (const Node& node : graph.nodes) {
    if (!IsStaticOp(node) || node.has_effect || node.instruction->opcode() != Opcode::kSelect) continue;
    Value& selection = graph.values[node.results[0]];
    const Range choice = ranges.Of(node.operands[0], node.block);
    if (selection.shape.IsScalar() && choice.low == choice.high)
      selection.same_as = node.operands[choice.low == 1 ? 1 : 2];
  }
  ResolveAll(graph);
}

}  // namespace hlo::plan
