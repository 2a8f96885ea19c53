#include "plan/fusion/loop_fusion.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "hlo_run/cost.h"
#include "plan/analysis/node_traits.h"
#include "plan/analysis/uses.h"
#include "types/index.h"

namespace hlo::plan {

Groups::Groups(const Graph& graph, const Uses& uses, bool fuses) : graph_(graph), uses_(uses), fuses_(fuses) {
  FindInvariants();
  // Users come after what they use.
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) Decide(*node);
  // What is computed from other places of the array that it updates comes first: then the update is in place.
  for (const Node& node : graph.nodes) {
    if (!IsStaticOp(node)) continue;
    const Opcode opcode = node.instruction->opcode();
    const bool is_scatter = opcode == Opcode::kScatter && TakesLoops(graph, node, 2);
    if (!is_scatter && opcode != Opcode::kDynamicUpdateSlice) continue;
    const ValueId update = node.operands[is_scatter ? 2 : 1];
    if (ReadsElsewhere(node, update)) inlined_.erase(graph.values[update].node);
  }
}

void Groups::FindInvariants() {
  for (const Node& node : graph_.nodes) {
    const Node* loop = node.block->owner;
    if (!IsStaticOp(node) || node.has_effect || loop == nullptr || loop->kind != Node::Kind::kWhile) continue;
    bool is_invariant = true;
    bool is_dear = IsElementwise(graph_, node) && InstructionCost(*node.instruction).transcendentals > 0;
    for (const ValueId operand : node.operands) {
      const Node* producer = operand == kNoValue ? nullptr : graph_.values[graph_.Resolve(operand)].node;
      if (producer == nullptr || (producer != loop && producer->block != node.block)) continue;
      const auto found = invariant_.find(producer);
      is_invariant &= found != invariant_.end();
      is_dear |= found != invariant_.end() && found->second && IsElementwise(graph_, *producer);
    }
    if (is_invariant) invariant_.emplace(&node, is_dear);
  }
}

const Node* Groups::RootOf(const Node& node) const {
  return IsElementwise(graph_, node) ? paths_.at(&node)[0].root : nullptr;
}

bool Groups::IsUsed(ValueId v) const {
  const std::vector<Uses::Use>& uses = uses_.of(v);
  return std::any_of(uses.begin(), uses.end(),
                     [&](const Uses::Use& use) { return use.node == nullptr || !IsDead(*use.node); });
}

bool Groups::ReadsElsewhere(const Node& update, ValueId window) const {
  const bool is_scatter = update.instruction->opcode() == Opcode::kScatter;
  absl::flat_hash_set<std::pair<ValueId, bool>> visited;
  // `stays`: v is computed at the position where the update writes.
  const auto reads = [&](const auto& self, ValueId v, bool stays) -> bool {
    if (!visited.emplace(v, stays).second) return false;
    const Node* node = graph_.values[v].node;
    if (node == nullptr || !IsInlined(*node)) return v == update.operands[0];
    if (IsDynamicSlice(*node)) {
      const bool same_place =
          stays && !is_scatter &&
          SameDimensions(ResultShape(graph_, *node), OperandShape(graph_, update, 1)) &&
          std::equal(node->operands.begin() + 1, node->operands.end(), update.operands.begin() + 2);
      return node->operands[0] == update.operands[0] && !same_place;
    }
    stays &= IsElementwise(graph_, *node);
    return std::any_of(node->operands.begin(), node->operands.end(),
                       [&](ValueId operand) { return self(self, operand, stays); });
  };
  return reads(reads, window, true);
}

namespace {

// Whether positions can be computed from it without overflow.
bool HasUsualPadding(const Node& pad) {
  const auto is_usual = [](int64_t size) { return -(int64_t{1} << 40) <= size && size <= int64_t{1} << 40; };
  const auto padding = pad.instruction->Get<attr::padding>();
  return std::all_of(padding.begin(), padding.end(), [&](const auto& p) {
    return is_usual(p.low) && is_usual(p.high) && is_usual(p.interior);
  });
}

}  // namespace

// At one place of one loop, or several times at the same position of it; and no more elements than there are.
bool Groups::IsOnce(const std::vector<Path>& paths) {
  const bool same =
      std::all_of(paths.begin(), paths.end(), [&](const Path& p) { return p == paths[0] && p.identity; });
  return (same || paths.size() == 1) && !paths[0].expands;
}

// Whether it costs less to read an array up to its edges, or where indices say, than to store what is read.
bool Groups::IsReadThrough(const Node& node, const std::vector<Path>& paths) const {
  constexpr int64_t kShortestRow = 16;
  constexpr size_t kMostReads = 4;
  if (IsConcatenate(node) && !HasPiecesAtHand(node)) return false;
  if (IsPad(node) && !HasUsualPadding(node)) return false;
  if (IsOnce(paths)) return true;
  if (!IsPad(node)) return false;
  const Shape& operand = OperandShape(graph_, node, 0);
  int64_t row = 1;
  for (int64_t d = operand.rank() - 1; d >= 0 && row == 1; --d) row = operand.dim(d);
  return row >= kShortestRow && paths.size() <= kMostReads &&
         std::none_of(paths.begin(), paths.end(), [](const Path& p) { return p.expands; });
}

// Whether a concatenation is of a few arrays in long rows that no loop has to compute.
bool Groups::HasPiecesAtHand(const Node& concatenate) const {
  constexpr size_t kMostPieces = 8;
  constexpr int64_t kShortestRow = 16;
  const int64_t dimension = concatenate.instruction->Get<attr::dimensions>()[0];
  bool fits = concatenate.operands.size() <= kMostPieces;
  for (size_t i = 0; fits && i < concatenate.operands.size(); ++i) {
    const Shape& piece = OperandShape(graph_, concatenate, static_cast<int32_t>(i));
    const Node* producer = graph_.values[concatenate.operands[i]].node;
    fits = Product(piece.dims().subspan(dimension)) >= kShortestRow &&
           (producer == nullptr || !IsElementwise(graph_, *producer));
  }
  return fits;
}

// Whether far more elements are padding than not.
bool Groups::Enlarges(const Node& pad) const {
  return *ResultShape(graph_, pad).ElementCount() > 2 * *OperandShape(graph_, pad, 0).ElementCount();
}

void Groups::Decide(const Node& node) {
  if (node.kind != Node::Kind::kOp) return;
  bool used = node.has_effect, joins = node.results.size() == 1 && node.results[0] != kNoValue;
  const bool elementwise = joins && IsElementwise(graph_, node);
  const bool positional = joins && IsPositional(graph_, node);
  const bool look_up = joins && IsLookUp(graph_, node);
  const bool window = joins && (IsDynamicSlice(node) || (look_up && IsSingleWindow(node)));
  // What costs more to read than what is stored.
  const bool dear = joins && !window && (look_up || IsPad(node) || IsConcatenate(node));
  joins = (elementwise || positional || window || dear) && fuses_;
  std::vector<Path> paths;
  for (ValueId result : node.results) {
    if (result == kNoValue) continue;
    for (const Uses::Use& use : uses_.of(result)) {
      if (use.node != nullptr && dead_.contains(use.node)) continue;
      used = true;
      if (use.node == nullptr || use.node->block != node.block ||
          !TakesLoops(graph_, *use.node, use.operand)) {
        joins = false;
        continue;
      }
      const Node& user = *use.node;
      const bool user_elementwise = IsElementwise(graph_, user), user_positional = IsPositional(graph_, user);
      const bool through_pad = IsPad(user) && inlined_.contains(&user);
      if (through_pad && HasInteriorPadding(user)) joins = false;
      const bool through_pieces = IsConcatenate(user) && inlined_.contains(&user);
      // What only gets another shape is stored all the same.
      if (dear && user_positional && KeepsMemory(user) && !inlined_.contains(&user)) joins = false;
      const bool scalar =
          ResultShape(graph_, node).IsScalar() && !(user_elementwise && ResultShape(graph_, user).IsScalar());
      const bool expands = (user_positional && user.instruction->opcode() == Opcode::kBroadcast) ||
                           (user_elementwise && scalar) || (through_pad && Enlarges(user));
      const bool moves = user_positional || through_pad || through_pieces || (user_elementwise && scalar);
      if (inlined_.contains(&user)) {
        for (Path path : paths_[&user]) {
          path.identity &= !moves;
          path.expands |= expands;
          path.piece |= through_pieces;
          paths.push_back(path);
        }
      } else if (user_elementwise || user_positional) {
        paths.push_back({&user, 0, !moves, expands});
      } else {
        const bool by_operand = user.instruction->opcode() != Opcode::kReduce;
        paths.push_back({&user, by_operand ? use.operand : 0, true, false});
      }
      if (paths.size() > 64) joins = false;
    }
  }
  if (!used) {
    dead_[&node] = 1;
    return;
  }
  const bool computes = !window && !(positional && node.instruction->opcode() != Opcode::kIota);
  const bool in_piece = std::any_of(paths.begin(), paths.end(), [](const Path& p) { return p.piece; });
  if (!joins || (computes && in_piece)) return;
  if (dear && !IsReadThrough(node, paths)) return;
  if (elementwise) {
    if (!IsOnce(paths)) return;
    // Its own step goes before the loop.
    const auto found = invariant_.find(&node);
    if (found != invariant_.end() && found->second && !invariant_.contains(paths[0].root)) return;
    int32_t& size = sizes_[paths[0].root];
    if (size >= kMostInLoop) return;
    ++size;
  }
  if ((elementwise || dear) && IsOnce(paths)) paths.resize(1);
  inlined_[&node] = 1;
  paths_[&node] = std::move(paths);
}

}  // namespace hlo::plan
