#pragma once
// Aligns the instructions of two modules that compute the same values.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "debug/extract/flat_module.h"

namespace hlo::debug {

// The evidence for a pair, strongest first.
enum class AlignedBy : uint8_t { kParameter, kResult, kName, kMetadata, kStructure, kNeighbours };
std::string_view Name(AlignedBy by);

struct AlignedPair {
  const Instruction* a;
  const Instruction* b;
  AlignedBy by;
};

// A one-to-one mapping between instructions of two flat modules. The instructions of a pair have the same
// shape up to layouts.
class Alignment {
 public:
  Alignment(const FlatModule& a, const FlatModule& b);

  // Returns the pairs in the dependency order of `a`.
  const std::vector<AlignedPair>& pairs() const { return pairs_; }
  // Return the other instruction of the pair; null if there is none.
  const Instruction* PartnerOfA(const Instruction* a) const { return Find(to_b_, a); }
  const Instruction* PartnerOfB(const Instruction* b) const { return Find(to_a_, b); }
  // Removes a pair whose instructions do not compute the same value.
  void Remove(const AlignedPair& pair);

 private:
  using Map = absl::flat_hash_map<const Instruction*, const Instruction*>;
  static const Instruction* Find(const Map& map, const Instruction* instruction) {
    const auto found = map.find(instruction);
    return found == map.end() ? nullptr : found->second;
  }
  bool Add(const Instruction* a, const Instruction* b, AlignedBy by);
  void AlignParameters();
  void AlignResults();
  using Key = std::function<std::string(const Instruction&)>;
  void AlignByKey(const Key& key_a, const Key& key_b, AlignedBy by);
  void AlignNeighbours();
  bool HasSameOperands(const Instruction& a, const Instruction& b) const;
  bool HasSwappedOperands(const AlignedPair& pair) const;
  void AlignOperands(const AlignedPair& pair);

  const FlatModule& a_;
  const FlatModule& b_;
  Map to_a_, to_b_;
  std::vector<AlignedPair> pairs_;
};

// Returns the hash of each instruction's subgraph by index: opcodes, shapes without layouts, attributes that
// affect the value, and operands, those of commutative operations in any order.
std::vector<uint64_t> SubgraphHashes(const FlatModule& flat);
// Returns the shape, opcode and attributes of an instruction without any names, layouts or metadata.
std::string Signature(const Instruction& instruction);

// True if the operands of a binary operation can be exchanged.
bool IsCommutative(Opcode opcode);

}  // namespace hlo::debug
