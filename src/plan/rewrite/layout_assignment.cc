#include "plan/rewrite/layout_assignment.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "plan/analysis/counted_loops.h"
#include "plan/analysis/live_nodes.h"
#include "plan/analysis/node_traits.h"
#include "plan/codegen/operations.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

// Rotated dimensions have at most so many elements, and the minor one of the others at least so many.
constexpr int64_t kMostRotated = 16, kShortestRow = 32;
// The trip count of a loop if it is unknown, and the largest one that counts. Loops count up to this depth.
constexpr int64_t kUnknownTripCount = 16, kMostTrips = 1000;
constexpr int kDeepestNest = 3;
// The least ratio of the time that is saved to the time that is lost: both are estimates.
constexpr double kLeastGain = 2;
// The time to begin a row, in units of an element's.
constexpr double kRowCost = 30;

// Returns the number of last dimensions that have few elements, if rows of the others are long enough.
int32_t ShortDims(const Shape& shape) {
  int32_t count = 0;
  int64_t elements = 1, d = shape.rank() - 1;
  for (; d >= 0 && elements * shape.dim(d) <= kMostRotated; --d, ++count) elements *= shape.dim(d);
  while (d > 0 && shape.dim(d) == 1) --d;
  return elements >= 2 && d >= 0 && shape.dim(d) >= kShortestRow ? count : 0;
}

// The rotation that a value would have; 0 if it keeps its order.
int32_t RotationOf(const Value& value) {
  const ElementType type = value.shape.type();
  const bool fits = value.replaced_by == kNoValue && value.shape.IsArray() && !value.is_dynamic &&
                    !value.shape.HasDynamicDim() && loops::FindConvert(type, type).has_value();
  return fits ? ShortDims(value.shape) : 0;
}

bool IsSoleReduction(const Node& node) {
  if (node.instruction->opcode() != Opcode::kReduce || node.operands.size() != 2) return false;
  const std::optional<ReduceCode> code = FindReduceCode(*node.instruction);
  return code.has_value() && code->reassociation == loops::Reassociation::kAny;
}

// The times, in units of an element's, of a loop that accesses elements one by one, and of another loop that
// copies them.
double ReadCost(int64_t elements) { return static_cast<double>(elements) + 50; }
double CopyCost(int64_t elements) { return 1.5 * static_cast<double>(elements) + 150; }

class LayoutAssigner {
 public:
  LayoutAssigner(const Module& module, Graph& graph, ChangeCounter& changes)
      : module_(module),
        graph_(graph),
        changes_(changes),
        live_(LiveNodes(graph)),
        parents_(graph.values.size()) {
    std::iota(parents_.begin(), parents_.end(), 0);
    for (Node& node : graph.nodes) {
      if (!live_.contains(&node)) continue;
      nodes_.push_back(&node);
      if (IsComputedByLoops(node)) loops_.insert(&node);
      if (node.kind == Node::Kind::kWhile) trip_counts_[&node] = TripCountOf(node);
    }
    rotations_.reserve(graph.values.size());
    for (const Value& value : graph.values)
      rotations_.push_back(value.node == nullptr || live_.contains(value.node) ? RotationOf(value) : 0);
    absl::flat_hash_set<ValueId> indices;
    for (const Node* node : nodes_) {
      if (node->kind == Node::Kind::kOp && node->instruction->opcode() == Opcode::kGather)
        KeepOrderOfIndices(node->operands[1], &indices);
    }
    KeepOrderTogether();
  }

  void Run() {
    for (const Node* node : nodes_) Unite(*node);
    for (const Node* node : nodes_) Weigh(*node);
    for (const ValueId v : graph_.results) UseElsewhere(v, *graph_.entry);
    WeighGivenValues();
    for (const auto& [set, time] : times_) {
      if (time.saved > kLeastGain * time.lost && changes_.Allow("layout_assignment", NameOf(set)))
        chosen_.insert(set);
    }
    if (!chosen_.empty()) Apply();
  }

 private:
  // Gathers read index vectors in row-major order, also through data movement that is fused into them.
  void KeepOrderOfIndices(ValueId v, absl::flat_hash_set<ValueId>* visited) {
    if (v == kNoValue || !visited->insert(v).second) return;
    rotations_[v] = 0;
    const Node* node = graph_.values[v].node;
    const bool moves = node != nullptr && node->kind == Node::Kind::kOp &&
                       (IsConcatenate(*node) || HasAffineIndexing(graph_, *node) || IsRowMajorReshape(*node));
    if (!moves) return;
    for (const ValueId operand : node->operands) KeepOrderOfIndices(operand, visited);
  }
  bool MayRotate(ValueId v) const { return v != kNoValue && rotations_[v] > 0; }
  int64_t CountOf(ValueId v) const { return *graph_.values[v].shape.ElementCount(); }
  // Returns the expected number of times that the block runs.
  double WeightOf(const Block& innermost) const {
    double weight = 1;
    int depth = 0;
    for (const Block* block = &innermost; block != nullptr && depth < kDeepestNest; block = block->parent) {
      if (block->owner == nullptr || block->owner->kind != Node::Kind::kWhile) continue;
      weight *= static_cast<double>(trip_counts_.at(block->owner));
      ++depth;
    }
    return weight;
  }
  int64_t TripCountOf(const Node& loop) const {
    const std::optional<CountedLoop> counted = FindCountedLoop(graph_, loop);
    if (!counted.has_value() || !counted->first_value.has_value() || !counted->limit_value.has_value())
      return kUnknownTripCount;
    return std::min(
        TripCount(*counted, *counted->first_value, *counted->limit_value).value_or(kUnknownTripCount),
        kMostTrips);
  }
  std::string_view NameOf(ValueId v) const {
    const Node* node = graph_.values[v].node;
    return node != nullptr ? node->instruction->name() : "";
  }

  // Returns true if loops compute the node, so that operands and results may have any layout.
  bool IsLoop(const Node& node) const { return loops_.contains(&node); }
  bool IsComputedByLoops(const Node& node) const {
    if (node.kind != Node::Kind::kOp || !IsStaticOp(node) || node.needs_reference || node.results.size() != 1)
      return false;
    switch (node.instruction->opcode()) {
      case Opcode::kDynamicSlice:
      case Opcode::kDynamicUpdateSlice:
      case Opcode::kConcatenate:
      case Opcode::kPad:
        return true;
      case Opcode::kReduce:
        return IsSoleReduction(node);
      default:
        return IsElementwise(graph_, node) || HasAffineIndexing(graph_, node);
    }
  }
  // Returns true if a value is stored in the layout that is chosen, and false if it comes from elsewhere.
  bool IsOwn(ValueId v) const {
    const Node* node = graph_.values[v].node;
    return node != nullptr && (node->kind != Node::Kind::kOp || IsLoop(*node));
  }

  // Calls visit(result, operand) for the operands whose layout must be that of a result.
  template <class Visit>
  void VisitFixed(Node& node, const Visit& visit) const {
    for (size_t i = 0; node.kind != Node::Kind::kOp && i < node.results.size(); ++i) {
      if (node.kind == Node::Kind::kWhile) {
        visit(node.results[i], node.operands[i]);
        visit(node.results[i], node.next[i]);
      }
      for (std::vector<ValueId>& branch : node.branch_results) visit(node.results[i], branch[i]);
    }
    // An update may be in place.
    const bool updates = IsLoop(node) && node.instruction->opcode() == Opcode::kDynamicUpdateSlice;
    if (updates) visit(node.results[0], node.operands[0]);
  }

  // All values that must have the same layout keep their order if one of them does.
  void KeepOrderTogether() {
    bool has_changed = true;
    const auto keep = [&](ValueId v) {
      if (MayRotate(v)) rotations_[v] = 0, has_changed = true;
    };
    const auto have_one_order = [&](ValueId a, ValueId b) {
      return MayRotate(a) && MayRotate(b) && SameDimensions(graph_.values[a].shape, graph_.values[b].shape);
    };
    while (std::exchange(has_changed, false)) {
      for (Node* node : nodes_) {
        VisitFixed(*node, [&](ValueId result, ValueId operand) {
          if (have_one_order(result, operand)) return;
          keep(result);
          keep(operand);
        });
      }
    }
  }

  // --- Sets of values that are rotated together, as a union-find structure.
  ValueId SetOf(ValueId v) {
    while (parents_[v] != v) v = parents_[v] = parents_[parents_[v]];
    return v;
  }
  void Unite(ValueId a, ValueId b) {
    if (MayRotate(a) && MayRotate(b)) parents_[SetOf(a)] = SetOf(b);
  }
  void Unite(const Node& node) {
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (node.kind == Node::Kind::kWhile) {
        Unite(node.results[i], node.operands[i]);
        Unite(node.results[i], node.next[i]);
      }
      for (const std::vector<ValueId>& branch : node.branch_results) Unite(node.results[i], branch[i]);
    }
    if (!IsLoop(node)) return;
    for (const ValueId operand : OperandsOf(node)) {
      Unite(operand, node.results[0]);
      Unite(operand, node.operands[0]);
    }
  }

  // Returns the operands whose elements the result takes. Windows that update an array have their own layout.
  static absl::Span<const ValueId> OperandsOf(const Node& node) {
    const bool updates = node.instruction->opcode() == Opcode::kDynamicUpdateSlice;
    return absl::MakeConstSpan(node.operands).first(updates ? 1 : node.operands.size());
  }

  // --- The gains and the costs
  void Save(ValueId v, double time) {
    if (MayRotate(v)) times_[SetOf(v)].saved += time;
  }
  void Lose(ValueId v, double time) {
    if (MayRotate(v)) times_[SetOf(v)].lost += time;
  }

  void Weigh(const Node& node) {
    if (node.kind != Node::Kind::kOp) return;
    if (!IsLoop(node)) {
      for (const ValueId operand : node.operands) UseElsewhere(operand, *node.block);
      return;
    }
    const double weight = WeightOf(*node.block);
    const ValueId result = node.results[0];
    const Opcode opcode = node.instruction->opcode();
    const bool slices = opcode == Opcode::kSlice || opcode == Opcode::kDynamicSlice;
    for (const ValueId operand : OperandsOf(node)) {
      if (!MayRotate(operand) || IsOwn(operand)) continue;
      const int64_t count = slices ? CountOf(result) : std::max(CountOf(operand), CountOf(result));
      uses_[operand] += weight * ReadCost(count);
    }
    WeighMixedLayouts(node, weight);
    for (const ValueId operand : node.operands) {
      if (!IsCrossing(node, operand)) continue;
      const ValueId visited = opcode == Opcode::kReduce ? operand : result;
      Save(MayRotate(result) ? result : operand, weight * static_cast<double>(CountOf(visited)));
      if (opcode == Opcode::kConcatenate) break;
    }
  }

  // Counts the costs of loops whose accesses are less contiguous if values are rotated.
  void WeighMixedLayouts(const Node& node, double weight) {
    if (node.operands.empty()) return;
    const ValueId operand = node.operands[0], result = node.results[0];
    const Opcode opcode = node.instruction->opcode();
    if (opcode == Opcode::kDynamicUpdateSlice)
      Lose(node.operands[1], weight * ReadCost(CountOf(node.operands[1])));
    const bool splits = opcode == Opcode::kReshape || opcode == Opcode::kBitcast;
    if (splits && !MayRotate(operand)) Lose(result, weight * ReadCost(CountOf(result)));
    const bool mixes_columns = opcode == Opcode::kReduce && MayRotate(result) != MayRotate(operand) &&
                               CountOf(result) > 1 && !IsCrossing(node, operand);
    if (mixes_columns) Lose(MayRotate(result) ? result : operand, weight * CopyCost(CountOf(operand)));
    if (MayRotate(result) && CutsLongDims(node)) {
      const Shape& shape = graph_.values[result].shape;
      const auto rows = static_cast<double>(hlo::Product(shape.dims().last(rotations_[result])));
      Lose(result, weight * rows * kRowCost);
    }
  }

  // Returns true if the node has short rows in row-major order, and long ones if the value is rotated.
  bool IsCrossing(const Node& node, ValueId operand) const {
    const Instruction& instruction = *node.instruction;
    const ValueId result = node.results[0];
    const Shape &from = graph_.values[operand].shape, &to = graph_.values[result].shape;
    const int64_t first = to.rank() - rotations_[result];  // The first short dimension of the result.
    const auto is_short = [&](int64_t d) { return MayRotate(result) && d >= first; };
    switch (instruction.opcode()) {
      case Opcode::kBroadcast:
        return from.rank() > 0 && MayRotate(result) &&
               absl::c_none_of(instruction.Get<attr::dimensions>(),
                               [&](int64_t d) { return is_short(d) && to.dim(d) > 1; });
      case Opcode::kTranspose: {
        // The elements of both are in the same order if one of them is rotated.
        const IntList from_dims = instruction.Get<attr::dimensions>();
        const Index stored = Pick(from_dims, StoredOrder(to.rank(), rotations_[result]));
        return (MayRotate(result) && absl::c_is_sorted(stored)) ||
               (MayRotate(operand) && Index(from_dims) == StoredOrder(from.rank(), rotations_[operand]));
      }
      case Opcode::kConcatenate:
      case Opcode::kReverse:
        return absl::c_any_of(instruction.Get<attr::dimensions>(), is_short);
      case Opcode::kReduce:
        return MayRotate(operand) && operand == node.operands[0] && CountOf(result) >= kShortestRow &&
               absl::c_any_of(instruction.Get<attr::dimensions>(),
                              [&](int64_t d) { return d >= from.rank() - rotations_[operand]; });
      case Opcode::kSlice:
      case Opcode::kDynamicSlice:
      case Opcode::kPad:
        if (operand != node.operands[0] || !MayRotate(operand)) return false;
        for (int64_t d = from.rank() - rotations_[operand]; d < from.rank(); ++d) {
          if (from.dim(d) != to.dim(d)) return true;
        }
        return false;
      default:
        return false;
    }
  }

  // Returns true if a rotated result has a row for each element of its short dimensions, while in row-major
  // order the elements of all rows are contiguous.
  bool CutsLongDims(const Node& node) const {
    const Shape& shape = graph_.values[node.results[0]].shape;
    const int64_t first = shape.rank() - rotations_[node.results[0]];
    switch (node.instruction->opcode()) {
      case Opcode::kSlice:
      case Opcode::kDynamicSlice:
      case Opcode::kDynamicUpdateSlice:
      case Opcode::kPad: {
        const bool updates = node.instruction->opcode() == Opcode::kDynamicUpdateSlice;
        const Shape& other = OperandShape(graph_, node, updates ? 1 : 0);
        return !absl::c_equal(other.dims().first(first), shape.dims().first(first));
      }
      case Opcode::kConcatenate:
        return node.instruction->Get<attr::dimensions>()[0] < first;
      default:
        return false;
    }
  }

  // Counts a use of a value that needs its elements in row-major order.
  void UseElsewhere(ValueId v, const Block& block) {
    if (!MayRotate(v) || !IsOwn(v) || !elsewhere_.insert({v, &block}).second) return;
    Lose(v, WeightOf(block) * CopyCost(CountOf(v)));
  }

  // Values from elsewhere are copied once, or read element by element.
  void WeighGivenValues() {
    for (const auto& [v, cost] : uses_) {
      const double copy = GivenCopyCost(v);
      Lose(v, std::min(copy, cost));
      if (copy < cost) copied_.insert(v);
    }
    for (Node* node : nodes_) VisitFixed(*node, [&](ValueId /*result*/, ValueId v) { Convert(v); });
  }
  double GivenCopyCost(ValueId v) const {
    const Node* node = graph_.values[v].node;
    return WeightOf(node != nullptr ? *node->block : *graph_.entry) * CopyCost(CountOf(v));
  }
  // Counts a copy of a value from elsewhere that must be rotated.
  void Convert(ValueId v) {
    if (MayRotate(v) && !IsOwn(v) && copied_.insert(v).second) Lose(v, GivenCopyCost(v));
  }

  // --- The changes
  bool IsChosen(ValueId v) { return MayRotate(v) && chosen_.contains(SetOf(v)); }

  void Apply() {
    const size_t count = graph_.values.size();
    for (size_t v = 0; v < count; ++v) {
      const auto value = static_cast<ValueId>(v);
      if (IsChosen(value) && IsOwn(value)) graph_.values[v].rotation = rotations_[v];
    }
    CopyGivenValues();
    for (Block& block : graph_.blocks) RestoreOrder(block);
    for (ValueId& v : graph_.results) v = InOrder(v, *graph_.entry, graph_.entry->nodes);
  }

  // Copies values from elsewhere for the loops that read them, and for states.
  void CopyGivenValues() {
    absl::flat_hash_map<ValueId, ValueId> copies;
    for (const ValueId v : copied_) {
      if (!IsChosen(v)) continue;
      Node* producer = graph_.values[v].node;
      Block* block = producer != nullptr ? producer->block : graph_.entry;
      Node* copy = NewCopy(v, *block, rotations_[v]);
      const auto at = producer != nullptr ? absl::c_find(block->nodes, producer) + 1 : block->nodes.begin();
      block->nodes.insert(at, copy);
      copies[v] = copy->results[0];
    }
    const auto replace = [&](ValueId& v) {
      if (const auto found = copies.find(v); found != copies.end()) v = found->second;
    };
    for (Node* node : nodes_) {
      if (IsLoop(*node)) absl::c_for_each(node->operands, replace);
      VisitFixed(*node, [&](ValueId /*result*/, ValueId& v) { replace(v); });
    }
  }

  // Gives the users of rotated values that are not loops copies in row-major order.
  void RestoreOrder(Block& block) {
    std::vector<Node*> nodes;
    for (Node* node : block.nodes) {
      if (live_.contains(node) && node->kind == Node::Kind::kOp && !IsLoop(*node)) {
        for (ValueId& operand : node->operands) operand = InOrder(operand, block, nodes);
      }
      nodes.push_back(node);
    }
    block.nodes = std::move(nodes);
  }
  // Returns the value, or a copy of it at the end of the nodes.
  ValueId InOrder(ValueId v, Block& block, std::vector<Node*>& nodes) {
    if (v == kNoValue || graph_.values[v].rotation == 0) return v;
    const auto [found, is_new] = ordered_.try_emplace({v, &block}, kNoValue);
    if (is_new) {
      nodes.push_back(NewCopy(v, block, 0));
      found->second = nodes.back()->results[0];
    }
    return found->second;
  }

  Node* NewCopy(ValueId v, Block& block, int32_t rotation) {
    Module& module = RewrittenModule(graph_, module_);
    if (computation_ == nullptr) computation_ = module.NewComputation("layouts");
    const Shape shape = graph_.values[v].shape;
    const std::string_view name = NameOf(v).empty() ? "argument" : NameOf(v);
    const AttrEntry number{AttrId::number, {}, AttrValue::Of(int64_t{0})};
    Instruction* const operand =
        module.AddInstruction(computation_, Opcode::kParameter, name, shape, {}, {&number, 1});
    Node& node = graph_.nodes.emplace_back();
    node.instruction = module.AddInstruction(computation_, Opcode::kCopy, name, shape, {&operand, 1}, {});
    node.block = &block;
    node.operands = {v};
    node.results = {graph_.NewValue(shape, &node)};
    graph_.values[node.results[0]].rotation = rotation;
    return &node;
  }

  const Module& module_;
  Graph& graph_;
  ChangeCounter& changes_;
  const absl::flat_hash_set<const Node*> live_;
  std::vector<Node*> nodes_;                // The live ones, in the order of the graph.
  absl::flat_hash_set<const Node*> loops_;  // Those that loops compute.
  absl::flat_hash_map<const Node*, int64_t> trip_counts_;
  std::vector<ValueId> parents_;
  std::vector<int32_t> rotations_;
  struct Times {
    double saved = 0, lost = 0;
  };
  absl::btree_map<ValueId, Times> times_;  // By set.
  absl::btree_map<ValueId, double> uses_;  // The costs of reading values from elsewhere.
  absl::btree_set<ValueId> copied_;        // The values from elsewhere that are copied.
  absl::flat_hash_set<std::pair<ValueId, const Block*>> elsewhere_;
  absl::flat_hash_set<ValueId> chosen_;
  absl::flat_hash_map<std::pair<ValueId, const Block*>, ValueId> ordered_;
  Computation* computation_ = nullptr;
};

}  // namespace

void AssignLayouts(const Module& module, Graph& graph, ChangeCounter& changes) {
  const bool has_short_dims =
      absl::c_any_of(graph.values, [](const Value& value) { return RotationOf(value) > 0; });
  if (has_short_dims) LayoutAssigner(module, graph, changes).Run();
}

}  // namespace hlo::plan
