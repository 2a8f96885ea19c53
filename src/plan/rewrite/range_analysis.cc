#include "plan/rewrite/range_analysis.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlo_run/attribute.h"
#include "loops/compute_type.h"
#include "plan/analysis/node_traits.h"
#include "plan/rewrite/integer_range.h"

namespace hlo::plan {
namespace {

using Range = IntegerRange;
using Wide = IntegerRange::Wide;

// True for arrays of pred and of integers of at least 8 bits.
bool IsOfIntegers(const Shape& shape) {
  return shape.IsArray() && (IsPred(shape.type()) || (IsIntegral(shape.type()) && !IsSubByte(shape.type())));
}
bool IsSingleInteger(const Shape& shape) { return IsOfIntegers(shape) && *shape.ElementCount() == 1; }

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
    if (v == kNoValue || !IsOfIntegers(graph_.values[v].shape)) return kAnyNumber;
    const Value& value = graph_.values[v];
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
      if (!IsOfIntegers(shape)) continue;
      std::vector<Range> operands;
      for (const ValueId v : node.operands) operands.push_back(RangeAt(v, node.block));
      ranges_[node.results[0]] = RangeOfResult(*node.instruction, shape.type(), operands);
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
    constexpr int64_t kMaxElements = 256;
    const int64_t count = constant.element_count();
    if (constant.data() == nullptr || count == 0 || count > kMaxElements) return all;
    const auto number = [&](int64_t i) -> Wide {
      const std::byte* data = constant.data() + i * ByteCount(constant.type());
      const int64_t found = loops::ReadInteger(constant.type(), data);
      // Larger numbers are saturated.
      if (constant.type() != ElementType::kU64 || found != std::numeric_limits<int64_t>::max()) return found;
      uint64_t large;
      std::memcpy(&large, data, sizeof large);
      return large;
    };
    Range range = {number(0), number(0)};
    for (int64_t i = 1; i < count; ++i) range = JoinedRange(range, {number(i), number(i)});
    return range;
  }

  Range RangeOfState(ValueId state, const Node& loop, const Block* block, const Range& all) {
    Range range = all;
    if (non_negative_.contains(state)) range.low = std::max<Wide>(range.low, 0);
    // Within the body, the predicate holds.
    if (IsWithinBlock(block, loop.blocks[1]))
      range.high = std::min(range.high, UpperLimit(state, loop, loop.predicate, kMaxConditionDepth));
    return range.low <= range.high ? range : all;  // A body that never runs.
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

  const Graph& graph_;
  absl::flat_hash_set<ValueId> non_negative_;  // States that are never negative.
  absl::flat_hash_map<ValueId, Range> ranges_;
};

// Replaces the results of nodes.
class Folder {
 public:
  Folder(Graph& graph, ChangeCounter& changes) : graph_(graph), changes_(changes), ranges_(graph) {
    for (const Node& node : graph.nodes) {
      // The analysis of counted loops reads the instructions that compute them.
      loop_values_.insert(node.next.begin(), node.next.end());
      if (node.predicate != kNoValue) loop_values_.insert(node.predicate);
    }
  }

  void Run() {
    for (const Node& node : graph_.nodes) {
      if (!IsStaticOp(node) || node.has_effect || node.results.size() != 1 || node.results[0] == kNoValue ||
          graph_.values[node.results[0]].replaced_by != kNoValue)
        continue;
      const ValueId replacement = ReplacementOf(node);
      if (replacement != kNoValue && changes_.Allow("range_analysis", node.instruction->name()))
        graph_.values[node.results[0]].replaced_by = replacement;
    }
    ResolveAll(graph_);
  }

 private:
  ValueId ReplacementOf(const Node& node) {
    const ValueId result = node.results[0];
    const Shape& shape = graph_.values[result].shape;
    if (node.instruction->opcode() == Opcode::kSelect) {
      const Range choice = RangeOfOperand(node, 0);
      if (choice.IsSingle()) {
        const ValueId chosen = node.operands[choice.low == 1 ? 1 : 2];
        const Shape& chosen_shape = graph_.values[graph_.Resolve(chosen)].shape;
        // A constant of a mapped function is a scalar, which stands for an array. A select of mixed precision
        // converts.
        if (SameDimensions(chosen_shape, shape) && chosen_shape.type() == shape.type()) return chosen;
      }
    }
    if (!IsOfIntegers(shape)) return kNoValue;
    const Range range = ranges_.RangeAt(result, node.block);
    if (range.IsSingle() && IsSingleInteger(shape) && !loop_values_.contains(result))
      return ConstantOf(shape, range.low);
    const int same = IdenticalOperand(node);
    if (same < 0) return kNoValue;
    const Value& operand = graph_.values[graph_.Resolve(node.operands[same])];
    return operand.shape == shape && !IsBroadcast(operand) ? node.operands[same] : kNoValue;
  }

  // Returns the number of an operand that is the result, or -1.
  int IdenticalOperand(const Node& node) {
    const auto of = [&](int k) { return RangeOfOperand(node, k); };
    // Returns the operand beside the one that is a number.
    const auto beside = [&](Wide number) { return of(1).Is(number) ? 0 : of(0).Is(number) ? 1 : -1; };
    const Range all = RangeOf(graph_.values[node.results[0]].shape.type());
    switch (node.instruction->opcode()) {
      case Opcode::kAdd:
      case Opcode::kOr:
      case Opcode::kXor:
        return beside(0);
      case Opcode::kAnd:
        return beside(all.low < 0 ? -1 : all.high);
      case Opcode::kMultiply:
        return beside(1);
      case Opcode::kDivide:
        return of(1).Is(1) ? 0 : -1;
      case Opcode::kShiftLeft:
      case Opcode::kShiftRightArithmetic:
      case Opcode::kShiftRightLogical:
      case Opcode::kSubtract:
        return of(1).Is(0) ? 0 : -1;
      case Opcode::kRemainder:
        return of(0).low >= 0 && of(0).high < of(1).low ? 0 : -1;
      case Opcode::kMaximum:
        return of(0).low >= of(1).high ? 0 : of(1).low >= of(0).high ? 1 : -1;
      case Opcode::kMinimum:
        return of(0).high <= of(1).low ? 0 : of(1).high <= of(0).low ? 1 : -1;
      case Opcode::kClamp:
        return of(1).low >= of(0).high && of(1).high <= of(2).low ? 1 : -1;
      default:
        return -1;
    }
  }

  // Storing a broadcast takes as long as the operation, which may be fused with others.
  static bool IsBroadcast(const Value& value) {
    return value.node != nullptr && IsStaticOp(*value.node) &&
           value.node->instruction->opcode() == Opcode::kBroadcast;
  }

  Range RangeOfOperand(const Node& node, int k) { return ranges_.RangeAt(node.operands[k], node.block); }

  // Returns kNoValue if memory is short.
  ValueId ConstantOf(const Shape& shape, Wide number) {
    absl::StatusOr<Literal> literal = Literal::Create(shape.WithoutLayouts());
    if (!literal.ok()) return kNoValue;
    loops::DispatchComputeType(loops::ComputeTypeOf(shape.type()), [&]<class T>() {
      if constexpr (std::is_integral_v<T>) literal->mutable_span<T>()[0] = static_cast<T>(number);
    });
    return graph_.NewConstant(*std::move(literal));
  }

  Graph& graph_;
  ChangeCounter& changes_;
  RangeAnalysis ranges_;
  absl::flat_hash_set<ValueId> loop_values_;  // Next states and predicates.
};

}  // namespace

void FoldByRange(Graph& graph, ChangeCounter& changes) { Folder(graph, changes).Run(); }

}  // namespace hlo::plan
