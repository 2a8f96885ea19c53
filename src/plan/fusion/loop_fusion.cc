#include "plan/fusion/loop_fusion.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "hlo_run/cost.h"
#include "plan/analysis/node_traits.h"
#include "plan/analysis/uses.h"
#include "types/index.h"

namespace hlo::plan {

LoopFusion::LoopFusion(const Graph& graph, const Uses& uses, bool enabled, ChangeCounter& changes)
    : graph_(graph), uses_(uses), enabled_(enabled), changes_(changes) {
  const std::vector<Node*> nodes = NodesInOrder(graph);
  FindLoopInvariants(nodes);
  // Nodes that rewrites have removed are in no block.
  const absl::flat_hash_set<const Node*> present(nodes.begin(), nodes.end());
  for (const Node& node : graph.nodes) {
    if (!present.contains(&node)) dead_[&node] = 1;
  }
  // Users are visited before producers.
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) Visit(**node);
  // A window that is computed from other elements of the updated array is not fused: the update can then be
  // in place.
  for (const Node& node : graph.nodes) {
    if (!IsStaticOp(node)) continue;
    const Opcode opcode = node.instruction->opcode();
    const bool is_scatter = opcode == Opcode::kScatter && CanFuseOperand(graph, node, 2);
    if (!is_scatter && opcode != Opcode::kDynamicUpdateSlice) continue;
    const ValueId update = node.operands[is_scatter ? 2 : 1];
    if (ReadsOutsideWindow(node, update)) fused_.erase(graph.values[update].node);
  }
}

namespace {
constexpr int64_t kCostOfFunction = 100;
// Returns the approximate cost of an elementwise operation on an element; an addition costs 1.
int64_t CostOfElement(const Instruction& instruction) {
  if (InstructionCost(instruction).transcendentals > 0) return kCostOfFunction;
  const Opcode opcode = instruction.opcode();
  return opcode == Opcode::kDivide || opcode == Opcode::kRemainder ? 4 : 1;
}
}  // namespace

bool LoopFusion::IsHoisted(const Node& node) const {
  // Reading an element from the L2 cache costs as much as a few operations.
  constexpr int64_t kMinCost = 4, kMaxBytes = 256 << 10;
  const auto found = invariant_.find(&node);
  if (found == invariant_.end()) return false;
  return found->second >= kCostOfFunction ||
         (found->second >= kMinCost &&
          DenseByteCount(node.instruction->shape()).value_or(kMaxBytes + 1) <= kMaxBytes);
}

void LoopFusion::FindLoopInvariants(const std::vector<Node*>& nodes) {
  for (const Node* each : nodes) {
    const Node& node = *each;
    const Node* loop = node.block->owner;
    if (!IsStaticOp(node) || node.has_effect || loop == nullptr || loop->kind != Node::Kind::kWhile) continue;
    bool is_invariant = true;
    int64_t cost = IsElementwise(graph_, node) ? CostOfElement(*node.instruction) : 0;
    for (const ValueId operand : node.operands) {
      const Node* producer = operand == kNoValue ? nullptr : graph_.values[graph_.Resolve(operand)].node;
      if (producer == nullptr || (producer != loop && producer->block != node.block)) continue;
      const auto found = invariant_.find(producer);
      is_invariant &= found != invariant_.end();
      if (found != invariant_.end() && IsElementwise(graph_, *producer)) cost += found->second;
    }
    if (is_invariant) invariant_.emplace(&node, std::min(cost, kCostOfFunction));
  }
}

const Node* LoopFusion::RootOf(const Node& node) const {
  return IsElementwise(graph_, node) ? paths_.at(&node)[0].root : nullptr;
}

bool LoopFusion::IsLive(ValueId v) const {
  const std::vector<Uses::Use>& uses = uses_.of(v);
  return std::any_of(uses.begin(), uses.end(),
                     [&](const Uses::Use& use) { return use.node == nullptr || !IsDead(*use.node); });
}

bool LoopFusion::ReadsOutsideWindow(const Node& update, ValueId window) const {
  const bool is_scatter = update.instruction->opcode() == Opcode::kScatter;
  absl::flat_hash_set<std::pair<ValueId, bool>> visited;
  // `stays`: v is computed at the position to which the update writes.
  const auto reads = [&](const auto& self, ValueId v, bool stays) -> bool {
    if (!visited.emplace(v, stays).second) return false;
    const Node* node = graph_.values[v].node;
    if (node == nullptr || !IsFused(*node)) return v == update.operands[0];
    if (IsDynamicSlice(*node)) {
      const bool is_same_window =
          stays && !is_scatter &&
          SameDimensions(ResultShape(graph_, *node), OperandShape(graph_, update, 1)) &&
          std::equal(node->operands.begin() + 1, node->operands.end(), update.operands.begin() + 2);
      return node->operands[0] == update.operands[0] && !is_same_window;
    }
    stays &= IsElementwise(graph_, *node);
    return std::any_of(node->operands.begin(), node->operands.end(),
                       [&](ValueId operand) { return self(self, operand, stays); });
  };
  return reads(reads, window, true);
}

namespace {

// True if positions can be computed from the padding without overflow.
bool HasBoundedPadding(const Node& pad) {
  const auto is_bounded = [](int64_t size) {
    return -(int64_t{1} << 40) <= size && size <= int64_t{1} << 40;
  };
  const auto padding = pad.instruction->Get<attr::padding>();
  return std::all_of(padding.begin(), padding.end(), [&](const auto& p) {
    return is_bounded(p.low) && is_bounded(p.high) && is_bounded(p.interior);
  });
}

}  // namespace

// True if the value is computed at most once per element: one loop uses it, at one position.
bool LoopFusion::IsComputedOnce(const std::vector<Path>& paths) {
  const bool same =
      std::all_of(paths.begin(), paths.end(), [&](const Path& p) { return p == paths[0] && p.identity; });
  return (same || paths.size() == 1) && !paths[0].broadcasts;
}

// True if reading an array through a pad, concatenate or gather costs less than storing the result.
bool LoopFusion::IsCheaperFused(const Node& node, const std::vector<Path>& paths) const {
  constexpr int64_t kMinRowLength = 16;
  constexpr size_t kMaxReads = 4;
  if (IsConcatenate(node) && !HasStoredOperands(node, IsElementwise(graph_, *paths[0].root))) return false;
  if (IsPad(node) && !HasBoundedPadding(node)) return false;
  if (IsComputedOnce(paths)) return true;
  if (!IsPad(node)) return false;
  const Shape& operand = OperandShape(graph_, node, 0);
  int64_t row = 1;
  for (int64_t d = operand.rank() - 1; d >= 0 && row == 1; --d) row = operand.dim(d);
  return row >= kMinRowLength && paths.size() <= kMaxReads &&
         std::none_of(paths.begin(), paths.end(), [](const Path& p) { return p.broadcasts; });
}

// True for a concatenation of few operands in long rows that are all in memory. Loops that store elementwise
// results may read short rows beside long ones.
bool LoopFusion::HasStoredOperands(const Node& concatenate, bool by_loop) const {
  constexpr size_t kMaxOperands = 8;
  constexpr int64_t kMinRowLength = 16, kMinAverage = 192;
  const int64_t dimension = concatenate.instruction->Get<attr::dimensions>()[0];
  const auto count = static_cast<int64_t>(concatenate.operands.size());
  const bool is_long_on_average =
      by_loop && Product(ResultShape(graph_, concatenate).dims().subspan(dimension)) >= count * kMinAverage;
  bool fits = concatenate.operands.size() <= kMaxOperands;
  for (size_t i = 0; fits && i < concatenate.operands.size(); ++i) {
    const Shape& operand = OperandShape(graph_, concatenate, static_cast<int32_t>(i));
    const Node* producer = graph_.values[concatenate.operands[i]].node;
    fits = (is_long_on_average || Product(operand.dims().subspan(dimension)) >= kMinRowLength) &&
           (producer == nullptr || !IsElementwise(graph_, *producer));
  }
  return fits;
}

// True if far more elements are padding than not.
bool LoopFusion::IsMostlyPadding(const Node& pad) const {
  return *ResultShape(graph_, pad).ElementCount() > 2 * *OperandShape(graph_, pad, 0).ElementCount();
}

LoopFusion::Traits LoopFusion::TraitsOf(const Node& node) const {
  if (!enabled_ || node.results.size() != 1 || node.results[0] == kNoValue) return {};
  Traits traits{.elementwise = IsElementwise(graph_, node), .affine = HasAffineIndexing(graph_, node)};
  const bool gather = IsFusibleGather(graph_, node);
  traits.window = IsDynamicSlice(node) || (gather && HasSingleIndexVector(node));
  traits.costly_read = !traits.window && (gather || IsPad(node) || IsConcatenate(node));
  return traits;
}

namespace {

// True for a broadcast along a dimension of more than one element.
bool RepeatsElements(const Graph& graph, const Node& node) {
  return node.instruction->opcode() == Opcode::kBroadcast &&
         ResultShape(graph, node).ElementCount() != OperandShape(graph, node, 0).ElementCount();
}

}  // namespace

bool LoopFusion::CanBeGatherLoop(const Node& node) const {
  if (!enabled_ || !IsFusibleGather(graph_, node)) return false;
  const IntList sizes = node.instruction->Get<attr::slice_sizes>();
  const Node* indices = graph_.values[node.operands[1]].node;
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size == 1; }) &&
         indices != nullptr && indices->block == node.block &&
         IsConcatenationOfIndices(graph_, *indices, node.instruction->Get<attr::index_vector_dim>());
}

// True if the user is a gather, fused or a loop, that reads the node as its indices.
bool LoopFusion::IsIndicesOfGather(const Node& node, const Uses::Use& use) const {
  return use.node != nullptr && use.operand == 1 && use.node->block == node.block &&
         (fused_.contains(use.node) || gather_loops_.contains(use.node)) && IsStaticOp(*use.node) &&
         use.node->instruction->opcode() == Opcode::kGather;
}

// True if such a gather can read its indices from the operands of this concatenation.
bool LoopFusion::IsReadAsIndices(const Node& node, const Uses::Use& use) const {
  if (IsIndicesOfGather(node, use))
    return IsConcatenationOfIndices(graph_, node, use.node->instruction->Get<attr::index_vector_dim>());
  // A fused reshape that is not affine leads to indices (IsReshapeOfIndices), whose vectors are rows.
  return use.node != nullptr && use.node->block == node.block && fused_.contains(use.node) &&
         IsRowMajorReshape(*use.node) && !HasAffineIndexing(graph_, *use.node) &&
         IsConcatenationOfIndices(graph_, node, ResultShape(graph_, node).rank() - 1);
}

// True if such a gather can read its indices from the operand of this reshape.
bool LoopFusion::IsReshapeOfIndices(const Node& node, const Uses::Use& use) const {
  return IsIndicesOfGather(node, use) && !HasAffineIndexing(graph_, node) &&
         KeepsIndexVectors(graph_, node, *use.node);
}

bool LoopFusion::AddPaths(const Node& node, const Traits& traits, const Uses::Use& use,
                          std::vector<Path>* paths) const {
  constexpr size_t kMaxPaths = 64;
  const bool reshapes = IsReshapeOfIndices(node, use);
  if (reshapes || IsReadAsIndices(node, use)) {
    for (Path path : paths_.at(use.node)) {
      path.identity = false;
      path.index = true;
      path.reshaped |= reshapes;
      paths->push_back(path);
    }
    return paths->size() <= kMaxPaths;
  }
  const bool computes = traits.elementwise || traits.affine || traits.window || traits.costly_read;
  if (!computes || use.node == nullptr || use.node->block != node.block ||
      !CanFuseOperand(graph_, *use.node, use.operand))
    return false;
  const Node& user = *use.node;
  const bool is_fused = fused_.contains(&user);
  const bool user_elementwise = IsElementwise(graph_, user), user_affine = HasAffineIndexing(graph_, user);
  const bool through_pad = IsPad(user) && is_fused, through_concatenate = IsConcatenate(user) && is_fused;
  if (through_pad && HasInteriorPadding(user)) return false;
  // A reshape of such a value is stored anyway.
  if (traits.costly_read && user_affine && IsNoOpReshape(user) && !is_fused) return false;
  const bool scalar =
      ResultShape(graph_, node).IsScalar() && !(user_elementwise && ResultShape(graph_, user).IsScalar());
  const bool broadcasts = (user_affine && RepeatsElements(graph_, user)) || (user_elementwise && scalar) ||
                          (through_pad && IsMostlyPadding(user));
  const bool reindexes = user_affine || through_pad || through_concatenate || (user_elementwise && scalar);
  if (is_fused) {
    for (Path path : paths_.at(&user)) {
      path.identity &= !reindexes;
      path.broadcasts |= broadcasts;
      path.concatenated |= through_concatenate;
      paths->push_back(path);
    }
  } else if (user_elementwise || user_affine) {
    paths->push_back({&user, 0, !reindexes, broadcasts});
  } else {
    const bool by_operand = user.instruction->opcode() != Opcode::kReduce;
    paths->push_back({&user, by_operand ? use.operand : 0, true, false});
  }
  return paths->size() <= kMaxPaths;
}

bool LoopFusion::ShouldFuse(const Node& node, const Traits& traits, const std::vector<Path>& paths) const {
  const auto is_index = [](const Path& path) { return path.index; };
  if (std::any_of(paths.begin(), paths.end(), is_index)) {
    const auto is_reshaped = [](const Path& path) { return path.reshaped; };
    if (traits.affine)
      return node.instruction->opcode() != Opcode::kIota &&
             (IsRowMajorReshape(node) || std::none_of(paths.begin(), paths.end(), is_reshaped));
    return (IsConcatenate(node) || IsRowMajorReshape(node)) &&
           std::all_of(paths.begin(), paths.end(), is_index) &&
           std::none_of(paths.begin(), paths.end(), [](const Path& path) { return path.concatenated; });
  }
  const bool computes = !traits.window && !(traits.affine && node.instruction->opcode() != Opcode::kIota);
  if (computes && std::any_of(paths.begin(), paths.end(), [](const Path& p) { return p.concatenated; }))
    return false;
  if (traits.costly_read && !IsCheaperFused(node, paths)) return false;
  if (!traits.elementwise) return true;
  if (!IsComputedOnce(paths)) return false;
  // Expensive loop-invariant nodes are hoisted as steps of their own.
  if (IsHoisted(node) && !invariant_.contains(paths[0].root)) return false;
  const auto size = sizes_.find(paths[0].root);
  return size == sizes_.end() || size->second < kMaxOpsInLoop;
}

void LoopFusion::Visit(const Node& node) {
  if (node.kind != Node::Kind::kOp) return;
  const Traits traits = TraitsOf(node);
  bool is_live = node.has_effect;
  bool can_fuse = traits.elementwise || traits.affine || traits.window || traits.costly_read ||
                  (enabled_ && IsRowMajorReshape(node));
  std::vector<Path> paths;
  for (ValueId result : node.results) {
    if (result == kNoValue) continue;
    for (const Uses::Use& use : uses_.of(result)) {
      if (use.node != nullptr && dead_.contains(use.node)) continue;
      is_live = true;
      can_fuse = can_fuse && AddPaths(node, traits, use, &paths);
    }
  }
  if (!is_live) {
    dead_[&node] = 1;
    return;
  }
  can_fuse = can_fuse && ShouldFuse(node, traits, paths);
  const bool is_gather_loop = !can_fuse && CanBeGatherLoop(node);
  if ((!can_fuse && !is_gather_loop) || !changes_.Allow("loop_fusion", node.instruction->name())) return;
  if (is_gather_loop) {
    gather_loops_[&node] = 1;
    paths_[&node] = {{.root = &node}};
    return;
  }
  if (traits.elementwise) ++sizes_[paths[0].root];
  if ((traits.elementwise || traits.costly_read) && IsComputedOnce(paths)) paths.resize(1);
  fused_[&node] = 1;
  paths_[&node] = std::move(paths);
}

}  // namespace hlo::plan
