#include "debug/diff/loop_pair.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "absl/hash/hash.h"
#include "debug/diff/align.h"
#include "debug/diff/diff.h"
#include "debug/diff/value_types.h"

namespace hlo::debug {
namespace {

// The evidence that two leaves are the same value. Different initial values outweigh all structure, and a
// leaf that no iteration changes is never one that an iteration changes.
constexpr int kSameUser = 4;
constexpr int kSameInitial = 4;
constexpr int kOtherInitial = -3;
constexpr int kSameUpdate = 3;
constexpr int kSameOrigin = 2;
constexpr int kBothInvariant = 1;
constexpr int kOneInvariant = -8;
constexpr int kSameStates = 5;
constexpr int kSameInitialValue = 2;
constexpr int kOtherInitialValue = -12;
constexpr int kSamePosition = 1;
constexpr int kLeastEvidence = 3;

// The rounds of hashing updates, each of which distinguishes leaves by those that they depend on.
constexpr int kRounds = 2;

const Instruction* WithoutCopies(const Instruction* instruction) {
  while (instruction->opcode() == Opcode::kCopy || IsConversionOfKind(*instruction))
    instruction = instruction->operand(0);
  return instruction;
}

LeafId WithoutConversions(LeafId leaf) {
  while (IsConversionOfKind(*leaf.first)) leaf = ForwardedLeaf({leaf.first->operand(0), 0});
  return leaf;
}

// The leaves of a loop's state, with the results of the body that update them.
struct Leaves {
  Leaves(const FlatModule& flat, const Instruction& while_loop)
      : loop(&while_loop),
        body(flat.source(), *while_loop.Get<attr::body>(), Inlining::kAll, Parameters::kLeaves),
        count(while_loop.shape().LeafCount()) {
    for (int64_t leaf = 0; leaf < count; ++leaf)
      initial.push_back(ForwardedLeaf({while_loop.operand(0), leaf}));
    HashUpdates();
  }
  const Shape& ShapeOf(int64_t leaf) const { return body.computation().parameter(leaf)->shape(); }
  const Instruction* Update(int64_t leaf) const {
    return WithoutCopies(body.results()[static_cast<size_t>(leaf)]);
  }
  bool IsInvariant(int64_t leaf) const { return Update(leaf) == body.computation().parameter(leaf); }

  void HashUpdates() {
    for (int64_t leaf = 0; leaf < count; ++leaf)
      updates.push_back(absl::HashOf(ToString(WithWidestTypes(ShapeOf(leaf))), IsInvariant(leaf)));
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<uint64_t> hashes = SubgraphHashes(body, updates);
      for (int64_t leaf = 0; leaf < count; ++leaf)
        updates[static_cast<size_t>(leaf)] = hashes[static_cast<size_t>(Update(leaf)->index())];
    }
  }

  const Instruction* loop;
  FlatModule body;
  int64_t count;
  std::vector<LeafId> initial;
  std::vector<uint64_t> updates;
};

bool HasSameOrigin(const FlatModule& flat_a, const Instruction& a, const FlatModule& flat_b,
                   const Instruction& b) {
  const std::string name = flat_a.OpNameOf(a);
  return a.opcode() == b.opcode() && !name.empty() && name == flat_b.OpNameOf(b);
}

class StateMatcher {
 public:
  StateMatcher(const Alignment& alignment, const Instruction& a, const Instruction& b)
      : alignment_(alignment), a_(alignment.a(), a), b_(alignment.b(), b) {
    for (const AlignedPair& pair : alignment.pairs()) {
      if (pair.a->opcode() != Opcode::kGetTupleElement || pair.b->opcode() != Opcode::kGetTupleElement)
        continue;
      const LeafId of_a = ForwardedLeaf({pair.a, 0}), of_b = ForwardedLeaf({pair.b, 0});
      if (of_a.first == &a && of_b.first == &b) users_.insert({of_a.second, of_b.second});
    }
  }

  LoopPair Match(const FirstStates& first_states) {
    Score();
    LoopPair pair = Best();
    if (first_states == nullptr || (!is_ambiguous_ && IsComplete(pair))) return pair;
    ScoreStates(first_states(*a_.loop, true), first_states(*b_.loop, false));
    return Best();
  }

 private:
  int& ScoreOf(int64_t i, int64_t j) { return scores_[static_cast<size_t>(i * b_.count + j)]; }
  bool CanMatch(int64_t i, int64_t j) const {
    return a_.ShapeOf(i).IsArray() && IsComparable(a_.ShapeOf(i), b_.ShapeOf(j));
  }

  void Score() {
    scores_.assign(static_cast<size_t>(a_.count * b_.count), 0);
    for (int64_t i = 0; i < a_.count; ++i) {
      for (int64_t j = 0; j < b_.count; ++j) {
        if (CanMatch(i, j)) ScoreOf(i, j) = StructuralScore(i, j);
      }
    }
  }

  // Only one of the modules may convert an initial value.
  std::optional<bool> HasSameInitial(int64_t i, int64_t j) const {
    const std::optional<bool> direct = alignment_.IsSame(a_.initial[i], b_.initial[j]);
    if (direct.value_or(false)) return true;
    const LeafId a = WithoutConversions(a_.initial[i]), b = WithoutConversions(b_.initial[j]);
    return a == a_.initial[i] && b == b_.initial[j] ? direct : alignment_.IsSame(a, b);
  }

  int StructuralScore(int64_t i, int64_t j) const {
    int score = users_.contains({i, j}) ? kSameUser : 0;
    const std::optional<bool> initial = HasSameInitial(i, j);
    if (initial) score += *initial ? kSameInitial : kOtherInitial;
    if (a_.IsInvariant(i) != b_.IsInvariant(j)) return score + kOneInvariant;
    if (a_.IsInvariant(i))
      score += kBothInvariant;
    else if (a_.updates[i] == b_.updates[j])
      score += kSameUpdate;
    if (HasSameOrigin(a_.body, *a_.Update(i), b_.body, *b_.Update(j))) score += kSameOrigin;
    if (i == j && a_.count == b_.count) score += kSamePosition;
    return score;
  }

  void ScoreStates(const LoopStates& a, const LoopStates& b) {
    const size_t common = std::min(a.size(), b.size());
    for (int64_t i = 0; common > 0 && i < a_.count; ++i) {
      for (int64_t j = 0; j < b_.count; ++j) {
        if (!CanMatch(i, j)) continue;
        const auto agrees = [&](size_t k) {
          return !CompareValues(a[k][static_cast<size_t>(i)], b[k][static_cast<size_t>(j)], {});
        };
        size_t same = 0;
        while (same < common && agrees(same)) ++same;
        ScoreOf(i, j) += same == 0 ? kOtherInitialValue : same == common ? kSameStates : kSameInitialValue;
      }
    }
  }

  // Returns the pairs of leaves with the most evidence; each leaf is in one of them.
  LoopPair Best() {
    std::vector<std::tuple<int, int64_t, int64_t, int64_t>> order;
    for (int64_t i = 0; i < a_.count; ++i) {
      for (int64_t j = 0; j < b_.count; ++j) {
        if (ScoreOf(i, j) >= kLeastEvidence) order.emplace_back(-ScoreOf(i, j), std::abs(i - j), i, j);
      }
    }
    std::sort(order.begin(), order.end());
    std::vector<int> taken_a(static_cast<size_t>(a_.count)), taken_b(static_cast<size_t>(b_.count));
    LoopPair pair{a_.loop, b_.loop, {}, {}};
    is_ambiguous_ = false;
    for (const auto& [negative, distance, i, j] : order) {
      if (taken_a[i] == 0 && taken_b[j] == 0) {
        taken_a[i] = taken_b[j] = -negative;
        pair.leaves.emplace_back(i, j);
      } else {
        is_ambiguous_ |= std::max(taken_a[i], taken_b[j]) == -negative;
      }
    }
    if (pair.IsIdentity()) AddSamePositions(pair, taken_a, taken_b);
    std::sort(pair.leaves.begin(), pair.leaves.end());
    for (const auto& [i, j] : pair.leaves) {
      if (a_.IsInvariant(i) != b_.IsInvariant(j)) pair.one_sided.emplace_back(i, j);
    }
    return pair;
  }

  // States with the same leaves correspond by position where there is no evidence. A leaf that only one loop
  // changes corresponds to the leaf at its position if their readers are aligned and no other leaf of `b`
  // remains for it.
  void AddSamePositions(LoopPair& pair, const std::vector<int>& taken_a,
                        const std::vector<int>& taken_b) const {
    const auto remaining = [&](int64_t i) {
      int64_t count = 0;
      for (int64_t j = 0; j < b_.count; ++j) count += taken_b[j] == 0 && CanMatch(i, j);
      return count;
    };
    for (int64_t i = 0; i < a_.count; ++i) {
      if (taken_a[i] == 0 && taken_b[i] == 0 && CanMatch(i, i) &&
          (a_.IsInvariant(i) == b_.IsInvariant(i) || (users_.contains({i, i}) && remaining(i) == 1)))
        pair.leaves.emplace_back(i, i);
    }
  }

  // False if a leaf of one loop has no partner although the other loop has a comparable leaf without one.
  bool IsComplete(const LoopPair& pair) const {
    std::vector<bool> has_a(static_cast<size_t>(a_.count)), has_b(static_cast<size_t>(b_.count));
    for (const auto& [i, j] : pair.leaves) has_a[i] = has_b[j] = true;
    for (int64_t i = 0; i < a_.count; ++i) {
      for (int64_t j = 0; j < b_.count; ++j) {
        if (!has_a[i] && !has_b[j] && CanMatch(i, j)) return false;
      }
    }
    return true;
  }

  const Alignment& alignment_;
  Leaves a_, b_;
  absl::flat_hash_set<std::pair<int64_t, int64_t>> users_;  // Leaves with aligned get-tuple-elements.
  std::vector<int> scores_;
  bool is_ambiguous_ = false;
};

}  // namespace

std::optional<int64_t> LoopPair::LeafOfB(int64_t leaf_of_a) const {
  for (const auto& [leaf_a, leaf_b] : leaves) {
    if (leaf_a == leaf_of_a) return leaf_b;
  }
  return std::nullopt;
}

bool LoopPair::IsIdentity() const {
  if (!IsComparable(a->shape(), b->shape())) return false;
  return std::all_of(leaves.begin(), leaves.end(),
                     [](const auto& leaf) { return leaf.first == leaf.second; });
}

LoopPair MatchStates(const Alignment& alignment, const Instruction& a, const Instruction& b,
                     const FirstStates& first_states) {
  return StateMatcher(alignment, a, b).Match(first_states);
}

}  // namespace hlo::debug
