// Aligns loops, and the elements of their states.

#include <algorithm>

#include "debug/diff/align.h"

namespace hlo::debug {
namespace {

// The evidence that two loops are the same.
constexpr int kSameName = 2;
constexpr int kSameOpName = 2;
constexpr int kSameUsers = 3;

std::vector<const Instruction*> LoopsIn(const FlatModule& flat) {
  std::vector<const Instruction*> loops;
  for (const Instruction* i : flat.instructions()) {
    if (i->opcode() == Opcode::kWhile) loops.push_back(i);
  }
  return loops;
}

// Returns the elements of a loop's final state, by leaf.
absl::flat_hash_map<int64_t, const Instruction*> ElementsOf(const FlatModule& flat, const Instruction& loop) {
  absl::flat_hash_map<int64_t, const Instruction*> elements;
  for (const Instruction* i : flat.instructions()) {
    if (i->opcode() != Opcode::kGetTupleElement || i->shape().IsTuple()) continue;
    const LeafId leaf = ForwardedLeaf({i, 0});
    if (leaf.first == &loop) elements.emplace(leaf.second, i);
  }
  return elements;
}

}  // namespace

std::optional<bool> Alignment::IsSame(const LeafId& a, const LeafId& b) const {
  for (const LoopPair& loops : loops_) {
    if (loops.a != a.first && loops.b != b.first) continue;
    return loops.a == a.first && loops.b == b.first && loops.LeafOfB(a.second) == b.second;
  }
  if (a.second == b.second && hashes_a_[a.first->index()] == hashes_b_[b.first->index()]) return true;
  const Instruction *partner_of_a = PartnerOfA(a.first), *partner_of_b = PartnerOfB(b.first);
  if (partner_of_a == nullptr && partner_of_b == nullptr) return std::nullopt;
  if (partner_of_b == a.first) return a.second == b.second;
  return partner_of_a == nullptr || partner_of_b == nullptr ? std::nullopt : std::optional<bool>(false);
}

const LoopPair* Alignment::LoopsOf(const AlignedPair& pair) const {
  const Instruction *a = ForwardedLeaf({pair.a, 0}).first, *b = ForwardedLeaf({pair.b, 0}).first;
  for (const LoopPair& loops : loops_) {
    if (loops.a == a && loops.b == b) return &loops;
  }
  return nullptr;
}

// Returns the loop with the most evidence, the first one of several; null if there is none. `candidates` are
// the remaining loops of `b`.
const Instruction* Alignment::LoopLike(const Instruction& a,
                                       const std::vector<const Instruction*>& candidates) const {
  if (const Instruction* partner = PartnerOfA(&a)) return partner;
  absl::flat_hash_map<const Instruction*, int> scores;
  for (const AlignedPair& pair : pairs_) {
    if (pair.a->opcode() != Opcode::kGetTupleElement || pair.b->opcode() != Opcode::kGetTupleElement)
      continue;
    if (ForwardedLeaf({pair.a, 0}).first == &a) scores[ForwardedLeaf({pair.b, 0}).first] = kSameUsers;
  }
  const Instruction* best = nullptr;
  for (const Instruction* b : candidates) {
    if (PartnerOfB(b) != nullptr) continue;
    if (a.Has<attr::metadata>() && b->Has<attr::metadata>()) {
      if (HaveOtherOrigins(a, *b)) continue;
      scores[b] += kSameOpName;
    }
    if (a_.OriginalOf(a).name() == b_.OriginalOf(*b).name()) scores[b] += kSameName;
    if (best == nullptr || scores[b] > scores[best]) best = b;
  }
  const bool is_only_one = candidates.size() == 1;
  return best != nullptr && (scores[best] > 0 || is_only_one) ? best : nullptr;
}

// Pairs the loops in the order of `a`, so that the initial values of a loop that other loops compute are
// aligned.
void Alignment::AlignLoops(const FirstStates& first_states) {
  std::vector<const Instruction*> candidates = LoopsIn(b_);
  for (const Instruction* a : LoopsIn(a_)) {
    const Instruction* b = LoopLike(*a, candidates);
    if (b == nullptr) continue;
    std::erase(candidates, b);
    AddLoops(*a, *b, first_states);
  }
}

void Alignment::AddLoops(const Instruction& a, const Instruction& b, const FirstStates& first_states) {
  LoopPair loops = MatchStates(*this, a, b, first_states);
  if (loops.leaves.empty()) return;
  if (!loops.IsIdentity() && PartnerOfA(&a) == &b) Remove({&a, &b, AlignedBy::kName});
  if (loops.IsIdentity()) Add(&a, &b, AlignedBy::kLoopState);
  loops_.push_back(std::move(loops));
  AlignElements(loops_.back());
  AlignInitialValues(loops_.back());
  AlignNeighbours();
}

// Elements that were aligned by their users, but are others, are aligned anew.
void Alignment::AlignElements(const LoopPair& loops) {
  const auto elements_a = ElementsOf(a_, *loops.a), elements_b = ElementsOf(b_, *loops.b);
  const auto is_wrong = [&](const Instruction* a, const Instruction* b) {
    const Instruction *of_a = PartnerOfA(a), *of_b = PartnerOfB(b);
    return (of_a != nullptr && of_a != b) || (of_b != nullptr && of_b != a);
  };
  for (const auto& [leaf_a, leaf_b] : loops.leaves) {
    const auto a = elements_a.find(leaf_a), b = elements_b.find(leaf_b);
    if (a == elements_a.end() || b == elements_b.end()) continue;
    if (is_wrong(a->second, b->second)) {
      if (const Instruction* partner = PartnerOfA(a->second))
        Remove({a->second, partner, AlignedBy::kNeighbours});
      if (const Instruction* partner = PartnerOfB(b->second))
        Remove({partner, b->second, AlignedBy::kNeighbours});
    }
    Add(a->second, b->second, AlignedBy::kLoopState);
  }
}

// Counters that start at other constants may be those of a loop whose first iterations a pass has peeled.
void Alignment::AlignInitialValues(const LoopPair& loops) {
  for (const auto& [leaf_a, leaf_b] : loops.leaves) {
    const Instruction* a = ForwardedLeaf({loops.a->operand(0), leaf_a}).first;
    const Instruction* b = ForwardedLeaf({loops.b->operand(0), leaf_b}).first;
    const bool is_computed = a->shape().IsArray() && a->opcode() != Opcode::kParameter;
    if (a->opcode() == Opcode::kConstant && IsIntegral(a->shape().type())) continue;
    if (is_computed && a->opcode() == b->opcode() && !HaveOtherOrigins(*a, *b))
      Add(a, b, AlignedBy::kLoopState);
  }
}

}  // namespace hlo::debug
