#include "plan/rewrite/common_subexpressions.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/analysis/equality.h"
#include "plan/analysis/node_traits.h"

namespace hlo::plan {
namespace {

// True if the node's result depends only on its operands and on the attributes that are compared.
bool MayBeShared(const Graph& graph, const Node& node) {
  if (!IsStaticOp(node) || node.has_effect || node.results.empty() ||
      std::ranges::find(node.operands, kNoValue) != node.operands.end() ||
      std::ranges::find(node.results, kNoValue) != node.results.end())
    return false;
  if (IsElementwise(graph, node)) return true;
  switch (node.instruction->opcode()) {
    case Opcode::kBitcast:
    case Opcode::kBroadcast:
    case Opcode::kCholesky:
    case Opcode::kConcatenate:
    case Opcode::kConvolution:
    case Opcode::kCustomCall:  // Of a library: the user's calls are no static operations.
    case Opcode::kDot:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kFft:
    case Opcode::kGather:
    case Opcode::kIota:
    case Opcode::kPad:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kReshape:
    case Opcode::kReverse:
    case Opcode::kRngBitGenerator:
    case Opcode::kScatter:
    case Opcode::kSelectAndScatter:
    case Opcode::kSlice:
    case Opcode::kSort:
    case Opcode::kTranspose:
    case Opcode::kTriangularSolve:
      return true;
    default:
      return false;
  }
}

class Eliminator {
 public:
  Eliminator(Graph& graph, bool shares_elements, ChangeCounter& changes)
      : graph_(graph), shares_elements_(shares_elements), changes_(changes) {}

  void Run() {
    for (size_t v = 0; v < graph_.values.size(); ++v) first_.push_back(static_cast<ValueId>(v));
    ShareConstants();
    ShareIn(*graph_.entry);
    ResolveAll(graph_);
  }

 private:
  void ShareIn(Block& block) {
    std::erase_if(block.nodes, [&](Node* node) {
      for (Block* inner : node->blocks) ShareIn(*inner);
      if (node->kind != Node::Kind::kOp) return ShareControlFlow(*node);
      if (MayBeShared(graph_, *node)) Share(*node);
      return false;
    });
  }

  // Makes equal constants one value, except large ones, which take time to compare.
  void ShareConstants() {
    constexpr int64_t kMaxBytes = 64 << 10;
    absl::flat_hash_map<std::string_view, std::vector<ValueId>> found;
    for (ValueId v = 0; v < static_cast<ValueId>(graph_.values.size()); ++v) {
      Value& value = graph_.values[v];
      if (value.constant == nullptr || value.replaced_by != kNoValue || value.is_dynamic) continue;
      const int64_t bytes = *DenseByteCount(value.shape);
      if (bytes == 0 || bytes > kMaxBytes) continue;
      std::vector<ValueId>& equal =
          found[{reinterpret_cast<const char*>(value.constant->data()), static_cast<size_t>(bytes)}];
      const auto same = std::find_if(equal.begin(), equal.end(), [&](ValueId other) {
        return graph_.values[other].shape == value.shape;
      });
      if (same == equal.end()) {
        equal.push_back(v);
      } else {
        first_[v] = *same;
        if (changes_.Allow("common_subexpressions")) value.replaced_by = *same;
      }
    }
  }

  void Share(const Node& node) {
    std::vector<const Node*>& candidates = CandidatesFor(node);
    const auto same = std::find_if(candidates.begin(), candidates.end(),
                                   [&](const Node* other) { return ComputeTheSame(graph_, *other, node); });
    if (same == candidates.end()) {
      candidates.push_back(&node);
      return;
    }
    ReplaceResults(
        node, **same,
        IsCheaperShared(node) && changes_.Allow("common_subexpressions", node.instruction->name()));
  }

  // Makes the results equal to those of another node, which replace them with `replaces`.
  void ReplaceResults(const Node& node, const Node& by, bool replaces) {
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] == kNoValue) continue;
      first_[node.results[i]] = first_[by.results[i]];
      if (replaces) graph_.values[node.results[i]].replaced_by = by.results[i];
    }
  }

  std::vector<const Node*>& CandidatesFor(const Node& node) {
    std::vector<ValueId> operands;
    for (const ValueId v : node.operands)
      operands.push_back(v == kNoValue ? kNoValue : first_[graph_.Resolve(v)]);
    return found_[{node.block, node.instruction->opcode(), std::move(operands)}];
  }

  // Replaces the results of a loop or conditional. Returns true if its node is not needed any more.
  bool ShareControlFlow(Node& node) {
    std::vector<const Node*>& candidates = CandidatesFor(node);
    const auto same = std::find_if(candidates.begin(), candidates.end(), [&](const Node* other) {
      return ControlFlowComparison(graph_, [&](ValueId v) { return first_[v]; }).AreEqual(*other, node);
    });
    if (same == candidates.end()) {
      candidates.push_back(&node);
      return false;
    }
    if (!changes_.Allow("common_subexpressions", node.instruction->name())) return false;
    Detach(node);
    ReplaceResults(node, **same, /*replaces=*/true);
    node.results.clear();
    return true;
  }

  // Lets a removed node and those in its blocks use none of the values that other nodes use.
  void Detach(Node& removed) {
    absl::flat_hash_map<ValueId, ValueId> unused;
    DetachFrom(removed, removed, unused);
  }
  // Does so for a node within `removed`. `unused` has the values that replace others.
  void DetachFrom(const Node& removed, Node& node, absl::flat_hash_map<ValueId, ValueId>& unused) {
    const auto replace = [&](ValueId& v) {
      if (v == kNoValue) return;
      const ValueId used = graph_.Resolve(v);
      const Value& value = graph_.values[used];
      if (value.constant != nullptr || (value.node != nullptr && IsWithin(value.node->block, removed)))
        return;
      const auto [entry, is_new] = unused.emplace(used, kNoValue);
      if (is_new) {
        entry->second = graph_.NewValue(Shape(value.shape), nullptr);
        first_.push_back(entry->second);
      }
      v = entry->second;
    };
    for (ValueId& v : node.operands) replace(v);
    for (ValueId& v : node.next) replace(v);
    for (std::vector<ValueId>& results : node.branch_results) {
      for (ValueId& v : results) replace(v);
    }
    replace(node.predicate);
    for (Block* block : node.blocks) {
      for (Node* inner : block->nodes) DetachFrom(removed, *inner, unused);
    }
  }

  // True if storing the result for all users costs less than computing it for each of them. Users of a shared
  // result do not fuse it, and a large one would live longer: text that rematerialises values would need the
  // memory that it saves.
  bool IsCheaperShared(const Node& node) const {
    constexpr int64_t kMaxBytes = 4 << 20;
    const Shape& shape = graph_.values[node.results[0]].shape;
    if (shape.IsScalar()) return true;
    if (*DenseByteCount(shape) > kMaxBytes) return false;
    const bool would_fuse = IsElementwise(graph_, node) || IsConcatenate(node) || IsPad(node) ||
                            node.instruction->opcode() == Opcode::kGather;
    // Loops convert elements when they load them.
    return !would_fuse || (shares_elements_ && node.instruction->opcode() != Opcode::kConvert);
  }

  using Key = std::tuple<const Block*, Opcode, std::vector<ValueId>>;

  Graph& graph_;
  bool shares_elements_;
  ChangeCounter& changes_;
  std::vector<ValueId> first_;  // Indexed by value: the first one that is equal.
  absl::flat_hash_map<Key, std::vector<const Node*>> found_;
};

}  // namespace

void EliminateCommonSubexpressions(Graph& graph, bool shares_elements, ChangeCounter& changes) {
  Eliminator(graph, shares_elements, changes).Run();
}

}  // namespace hlo::plan
