#include "plan/analysis/counted_loops.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "loops/compute_type.h"

namespace hlo::plan {
namespace {

// True if the value is invariant in the loop.
bool IsInvariant(const Graph& graph, ValueId v, const Node& loop) {
  const Node* node = graph.values[v].node;
  return node == nullptr || (node != &loop && !IsWithin(node->block, loop));
}

std::optional<int64_t> ConstantOf(const Graph& graph, ValueId v) {
  const Literal* constant = graph.values[v].constant;
  if (constant == nullptr) return std::nullopt;
  return loops::ReadInteger(constant->type(), constant->data());
}

bool IsOp(const Graph& graph, ValueId v, Opcode opcode) {
  const Node* node = graph.values[v].node;
  return node != nullptr && node->kind == Node::Kind::kOp && node->instruction->opcode() == opcode;
}

ComparisonDirection Mirrored(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kLt:
      return ComparisonDirection::kGt;
    case ComparisonDirection::kLe:
      return ComparisonDirection::kGe;
    case ComparisonDirection::kGt:
      return ComparisonDirection::kLt;
    case ComparisonDirection::kGe:
      return ComparisonDirection::kLe;
    default:
      return direction;
  }
}

// Returns the constant that each iteration adds to the counter.
std::optional<int64_t> StepOf(const Graph& graph, ValueId counter, ValueId next) {
  const bool adds = IsOp(graph, next, Opcode::kAdd), subtracts = IsOp(graph, next, Opcode::kSubtract);
  if (!adds && !subtracts) return std::nullopt;
  const Node& node = *graph.values[next].node;
  const ValueId a = graph.Resolve(node.operands[0]), b = graph.Resolve(node.operands[1]);
  if (a == counter) {
    const std::optional<int64_t> step = ConstantOf(graph, b);
    if (step.has_value() && subtracts && *step > 0) return -*step;
    return adds ? step : std::nullopt;
  }
  return adds && b == counter ? ConstantOf(graph, a) : std::nullopt;
}

}  // namespace

std::optional<CountedLoop> FindCountedLoop(const Graph& graph, const Node& loop) {
  const ValueId predicate = graph.Resolve(loop.predicate);
  if (!IsOp(graph, predicate, Opcode::kCompare) || IsInvariant(graph, predicate, loop)) return std::nullopt;
  const Node& compare = *graph.values[predicate].node;
  CountedLoop counted;
  counted.direction = compare.instruction->Get<attr::direction>();
  counted.counter = graph.Resolve(compare.operands[0]);
  counted.limit = graph.Resolve(compare.operands[1]);
  if (IsInvariant(graph, counted.counter, loop)) {
    std::swap(counted.counter, counted.limit);
    counted.direction = Mirrored(counted.direction);
  }
  const auto state = std::find(loop.results.begin(), loop.results.end(), counted.counter);
  if (state == loop.results.end() || !IsInvariant(graph, counted.limit, loop)) return std::nullopt;
  const Shape& shape = graph.values[counted.counter].shape;
  if (!shape.IsScalar() || !IsIntegral(shape.type()) || IsSubByte(shape.type())) return std::nullopt;
  counted.type = shape.type();
  const auto number = state - loop.results.begin();
  const std::optional<int64_t> step =
      StepOf(graph, counted.counter, graph.Resolve(loop.next[static_cast<size_t>(number)]));
  if (!step.has_value()) return std::nullopt;
  counted.step = *step;
  counted.first_value = ConstantOf(graph, graph.Resolve(loop.operands[static_cast<size_t>(number)]));
  counted.limit_value = ConstantOf(graph, counted.limit);
  return counted;
}

std::optional<int64_t> TripCount(const CountedLoop& loop, int64_t first, int64_t limit) {
  // ReadInteger saturates u64 values at the largest s64, so the trip count is unknown there.
  if (loop.type == ElementType::kU64 && (first == INT64_MAX || limit == INT64_MAX)) return std::nullopt;
  using Wide = __int128;
  const bool up = loop.step > 0;
  if (loop.step == 0) return std::nullopt;
  const Wide distance = up ? Wide{limit} - first : Wide{first} - limit,
             size = up ? Wide{loop.step} : -Wide{loop.step};
  Wide trip_count = 0;
  switch (loop.direction) {
    case ComparisonDirection::kLt:
    case ComparisonDirection::kGt:
      if ((loop.direction == ComparisonDirection::kLt) != up) return std::nullopt;
      trip_count = distance <= 0 ? 0 : CeilDiv(distance, size);
      break;
    case ComparisonDirection::kLe:
    case ComparisonDirection::kGe:
      if ((loop.direction == ComparisonDirection::kLe) != up) return std::nullopt;
      trip_count = distance < 0 ? 0 : distance / size + 1;
      break;
    case ComparisonDirection::kNe:
      if (distance < 0 || distance % size != 0) return std::nullopt;
      trip_count = distance / size;
      break;
    default:
      return std::nullopt;
  }
  // The increment of the last iteration is computed too and must not overflow.
  const Wide last = Wide{first} + trip_count * loop.step;
  const int bits = static_cast<int>(BitWidth(loop.type));
  const Wide low = IsSigned(loop.type) ? -(Wide{1} << (bits - 1)) : Wide{0};
  const Wide high = IsSigned(loop.type) ? (Wide{1} << (bits - 1)) - 1 : (Wide{1} << bits) - 1;
  if (last < low || last > high || trip_count > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(trip_count);
}

}  // namespace hlo::plan
