#pragma once
// Aligns the instructions of two modules that compute the same values.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "debug/diff/loop_pair.h"
#include "debug/extract/flat_module.h"

namespace hlo::debug {

// The evidence for a pair, strongest first.
enum class AlignedBy : uint8_t { kParameter, kResult, kName, kMetadata, kStructure, kNeighbours, kLoopState };
std::string_view Name(AlignedBy by);

struct AlignedPair {
  const Instruction* a;
  const Instruction* b;
  AlignedBy by;
};

// Says whether types are compared as declared, or only their kinds: floats, signed integers and so on.
enum class Types : uint8_t { kDeclared, kWidest };

// The numbers of parameters and results of two computations that are the same values.
struct Interface {
  std::vector<std::pair<int64_t, int64_t>> parameters, results;
};
// Returns the interface that pairs parameters and results by position.
Interface PositionalInterface(const FlatModule& a, const FlatModule& b);

// A mapping between instructions of two flat modules. An instruction of `b` is in one pair at most. One of
// `a` is in several if `b` has copies of it, for instance because a pass has fused it into several fusions;
// the first of them is its partner. The shapes of a pair are comparable or have the same elements (see
// value_types.h).
class Alignment {
 public:
  Alignment(const FlatModule& a, const FlatModule& b) : Alignment(a, b, PositionalInterface(a, b)) {}
  Alignment(const FlatModule& a, const FlatModule& b, const Interface& interface,
            const FirstStates& first_states = nullptr);

  const FlatModule& a() const { return a_; }
  const FlatModule& b() const { return b_; }

  // Returns the pairs in the dependency order of `a`.
  const std::vector<AlignedPair>& pairs() const { return pairs_; }
  // Return the other instruction of the pair; null if there is none.
  const Instruction* PartnerOfA(const Instruction* a) const { return Find(to_b_, a); }
  const Instruction* PartnerOfB(const Instruction* b) const { return Find(to_a_, b); }
  // Returns the loops that compute the same values, also those that are not pairs because their states
  // differ. The elements of such states that correspond are pairs after the loops.
  const std::vector<LoopPair>& loops() const { return loops_; }
  // Returns the loops of which a pair is an element or which it is; null for other pairs.
  const LoopPair* LoopsOf(const AlignedPair& pair) const;
  // True if two leaves, which no tuple forwards, are aligned or are computed alike; nullopt if that is
  // unknown.
  std::optional<bool> IsSame(const LeafId& a, const LeafId& b) const;
  // True if both have metadata that names different operations of the user's program. One name may be
  // relative to a caller.
  bool HaveOtherOrigins(const Instruction& a, const Instruction& b) const;
  // Removes a pair whose instructions do not compute the same value.
  void Remove(const AlignedPair& pair);

 private:
  using Map = absl::flat_hash_map<const Instruction*, const Instruction*>;
  static const Instruction* Find(const Map& map, const Instruction* instruction) {
    const auto found = map.find(instruction);
    return found == map.end() ? nullptr : found->second;
  }
  bool Add(const Instruction* a, const Instruction* b, AlignedBy by);
  bool AddCopy(const Instruction* a, const Instruction* b);
  void AlignParameters(const Interface& interface);
  void AlignResults(const Interface& interface);
  using Key = std::function<std::string(const Instruction&)>;
  void AlignByKeys(Types types);
  void AlignByKey(const Key& key_a, const Key& key_b, AlignedBy by, Types types);
  void AlignNeighbours();
  void AlignCopies();
  void AlignLoops(const FirstStates& first_states);
  void AddLoops(const Instruction& a, const Instruction& b, const FirstStates& first_states);
  void AlignElements(const LoopPair& loops);
  void AlignInitialValues(const LoopPair& loops);
  const Instruction* LoopLike(const Instruction& a, const std::vector<const Instruction*>& candidates) const;
  bool HasSameOperands(const Instruction& a, const Instruction& b) const;
  bool HasSwappedOperands(const AlignedPair& pair) const;
  std::vector<AlignedPair> LikelyOperands(const AlignedPair& pair) const;

  const FlatModule& a_;
  const FlatModule& b_;
  Map to_a_, to_b_;
  std::vector<AlignedPair> pairs_;
  std::vector<uint64_t> hashes_a_, hashes_b_;  // Of subgraphs.
  std::vector<LoopPair> loops_;
};

// Returns the hash of each instruction's subgraph by index: opcodes, shapes without layouts and with the
// widest types, attributes that affect the value, and operands, those of commutative operations in any order.
// Conversions between types of one kind are ignored. If `parameters` is not empty, it holds the hashes of the
// parameters.
std::vector<uint64_t> SubgraphHashes(const FlatModule& flat, const std::vector<uint64_t>& parameters = {});
// Returns the shape, opcode and attributes of an instruction without any names, layouts or metadata.
std::string Signature(const Instruction& instruction);

// True if the operands of a binary operation can be exchanged.
bool IsCommutative(Opcode opcode);

}  // namespace hlo::debug
