#include "plan/rewrite/range_analysis.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlo_run/attribute.h"
#include "loops/compute_type.h"
#include "plan/analysis/node_traits.h"

namespace hlo::plan {
namespace {

using Wide = __int128;

// An inclusive range. A pred is 0 or 1.
struct Range {
  Wide low, high;
  bool operator==(const Range&) const = default;
};

// True for one integer or pred.
bool IsSingleInteger(const Shape& shape) {
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

// Returns the range of a comparison of values in the two ranges.
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

class RangeAnalysis {
 public:
  // Induction: all states are first assumed to be non-negative; those remain whose initial and next values
  // are non-negative under this assumption.
  explicit RangeAnalysis(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes) {
      if (node.kind != Node::Kind::kWhile) continue;
      for (const ValueId state : node.results) {
        if (IsSingleInteger(graph.values[state].shape)) non_negative_.insert(state);
      }
    }
    for (int round = 0; round < kMaxRounds; ++round) {
      ComputeRanges();
      if (!EraseMaybeNegative()) return;
    }
    non_negative_.clear();
    ComputeRanges();
  }

  // Returns the range of a value as a node of the block reads it.
  Range RangeAt(ValueId v, const Block* block) {
    v = graph_.Resolve(v);
    const Value& value = graph_.values[v];
    if (!IsSingleInteger(value.shape))
      return {std::numeric_limits<int64_t>::min(), std::numeric_limits<uint64_t>::max()};
    const Range all = RangeOf(value.shape.type());
    if (value.constant != nullptr) return RangeOfConstant(*value.constant, all);
    if (value.node == nullptr || value.is_dynamic) return all;
    if (value.node->kind == Node::Kind::kWhile) return RangeOfState(v, *value.node, block, all);
    const auto found = ranges_.find(v);
    return found != ranges_.end() ? found->second : all;
  }

 private:
  static constexpr int kMaxRounds = 8, kMaxConditionDepth = 4;

  // Operands come before their users.
  void ComputeRanges() {
    ranges_.clear();
    for (const Node& node : graph_.nodes) {
      if (!IsStaticOp(node) || node.results.size() != 1 || node.results[0] == kNoValue) continue;
      const Shape& shape = graph_.values[node.results[0]].shape;
      if (IsSingleInteger(shape)) ranges_[node.results[0]] = RangeOfOp(node, RangeOf(shape.type()));
    }
  }
  bool EraseMaybeNegative() {
    bool changed = false;
    for (const Node& node : graph_.nodes) {
      if (node.kind != Node::Kind::kWhile) continue;
      for (size_t i = 0; i < node.results.size(); ++i) {
        if (RangeAt(node.operands[i], node.block).low < 0 || RangeAt(node.next[i], node.blocks[1]).low < 0)
          changed |= non_negative_.erase(node.results[i]) > 0;
      }
    }
    return changed;
  }

  static Range RangeOfConstant(const Literal& constant, const Range& all) {
    if (constant.shape().type() == ElementType::kU64) return all;
    const int64_t number = loops::ReadInteger(constant.shape().type(), constant.data());
    return {number, number};
  }

  Range RangeOfState(ValueId state, const Node& loop, const Block* block, Range range) {
    if (non_negative_.contains(state)) range.low = std::max<Wide>(range.low, 0);
    // Within the body, the predicate holds.
    if (IsWithinBlock(block, loop.blocks[1]))
      range.high = std::min(range.high, UpperLimit(state, loop, loop.predicate, kMaxConditionDepth));
    return range;
  }
  // Returns the largest value of the state for which the predicate may hold.
  Wide UpperLimit(ValueId state, const Node& loop, ValueId predicate, int depth) {
    constexpr Wide kNone = std::numeric_limits<uint64_t>::max();
    const Node* node = graph_.values[graph_.Resolve(predicate)].node;
    if (depth == 0 || node == nullptr || !IsStaticOp(*node) || !IsWithinBlock(node->block, loop.blocks[0]))
      return kNone;
    const Instruction& op = *node->instruction;
    if (op.opcode() == Opcode::kAnd)
      return std::min(UpperLimit(state, loop, node->operands[0], depth - 1),
                      UpperLimit(state, loop, node->operands[1], depth - 1));
    if (op.opcode() != Opcode::kCompare || op.Has<attr::type>()) return kNone;
    const ComparisonDirection direction = op.Get<attr::direction>();
    const bool rises = direction == ComparisonDirection::kLt || direction == ComparisonDirection::kLe;
    const bool falls = direction == ComparisonDirection::kGt || direction == ComparisonDirection::kGe;
    const ValueId counter = node->operands[rises ? 0 : 1], limit = node->operands[rises ? 1 : 0];
    if ((!rises && !falls) || graph_.Resolve(counter) != state ||
        !IsSingleInteger(graph_.values[counter].shape))
      return kNone;
    const bool excludes = direction == ComparisonDirection::kLt || direction == ComparisonDirection::kGt;
    return RangeAt(limit, loop.blocks[0]).high - (excludes ? 1 : 0);
  }

  Range RangeOfOp(const Node& node, const Range& all) {
    const auto of = [&](int operand) { return RangeAt(node.operands[operand], node.block); };
    // Integers wrap on overflow.
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
        if (!IsSingleInteger(graph_.values[node.operands[0]].shape) || node.instruction->Has<attr::type>())
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
        return IsSingleInteger(graph_.values[node.operands[0]].shape) && !is_pred ? unless_wrapped(of(0))
                                                                                  : all;
      case Opcode::kReshape:
        return of(0);
      default:
        return all;
    }
  }

  const Graph& graph_;
  absl::flat_hash_set<ValueId> non_negative_;  // States that are never negative.
  absl::flat_hash_map<ValueId, Range> ranges_;
};

}  // namespace

void FoldSelectsByRange(Graph& graph, ChangeCounter& changes) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(),
                   [](const Node& node) { return node.kind == Node::Kind::kWhile; }))
    return;
  RangeAnalysis ranges(graph);
  for (const Node& node : graph.nodes) {
    if (!IsStaticOp(node) || node.has_effect || node.instruction->opcode() != Opcode::kSelect) continue;
    Value& selection = graph.values[node.results[0]];
    const Range choice = ranges.RangeAt(node.operands[0], node.block);
    if (selection.shape.IsScalar() && choice.low == choice.high &&
        changes.Allow("range_analysis", node.instruction->name()))
      selection.replaced_by = node.operands[choice.low == 1 ? 1 : 2];
  }
  ResolveAll(graph);
}

}  // namespace hlo::plan
