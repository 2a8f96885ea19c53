#include "debug/diff/align.h"

#include <algorithm>
#include <string>

#include "debug/program_place.h"
#include "fmt/format.h"

namespace hlo::debug {
namespace {

// Tuples are forwarded, so aligning them is useless.
bool CanAlign(const Instruction& instruction) {
  return instruction.opcode() != Opcode::kTuple && !instruction.shape().IsToken();
}

bool SameShape(const Instruction& a, const Instruction& b) {
  return Equal(a.shape(), b.shape(), {.ignore_layout = true, .ignore_dynamic = true});
}

// Passes change the results of conditionals, so an element of another tuple is another value.
bool SameElement(const Instruction& a, const Instruction& b) {
  if (a.opcode() != Opcode::kGetTupleElement || b.opcode() != Opcode::kGetTupleElement) return true;
  return a.Get<attr::index>() == b.Get<attr::index>() && SameShape(*a.operand(0), *b.operand(0));
}

// Removes what compilers append to the names of copies.
std::string_view BaseName(std::string_view name) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::string_view suffix : {".clone", ".remat"}) {
      if (!name.ends_with(suffix)) continue;
      name.remove_suffix(suffix.size());
      changed = true;
    }
  }
  return name;
}

// Parameters and elements of the states of loops are aligned by other evidence. But a parameter may stand for
// an instruction that a pass moved out of a loop.
bool HasKey(const FlatModule& flat, const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kGetTupleElement)
    return ForwardedLeaf({&instruction, 0}).first->opcode() != Opcode::kWhile;
  if (instruction.opcode() != Opcode::kParameter) return true;
  const Opcode original = flat.OriginalOf(instruction).opcode();
  return original != Opcode::kParameter && original != Opcode::kGetTupleElement;
}

std::string NameKey(const FlatModule& flat, const Instruction& instruction) {
  const Instruction& original = flat.OriginalOf(instruction);
  const Opcode opcode = instruction.opcode() == Opcode::kParameter ? original.opcode() : instruction.opcode();
  return fmt::format("{}\n{}", Name(opcode), BaseName(original.name()));
}

std::string MetadataKey(const FlatModule& flat, const Instruction& instruction) {
  const Instruction& original = flat.OriginalOf(instruction);
  const bool is_moved = instruction.opcode() == Opcode::kParameter;
  const Metadata* metadata = (is_moved ? original : instruction).Get<attr::metadata>();
  if (metadata == nullptr || metadata->op_name.empty()) return "";
  return fmt::format("{}\n{}\n{}", Name((is_moved ? original : instruction).opcode()), metadata->op_name,
                     SourceLine(original));
}

std::string ShapeKey(const Instruction& instruction) { return ToString(instruction.shape()); }

}  // namespace

bool MetadataConflicts(const Instruction& a, const Instruction& b) {
  const Metadata *ma = a.Get<attr::metadata>(), *mb = b.Get<attr::metadata>();
  return ma != nullptr && mb != nullptr && ma->op_name != mb->op_name;
}

std::string_view Name(AlignedBy by) {
  constexpr std::string_view kNames[] = {"parameter", "result",     "name",      "metadata",
                                         "structure", "neighbours", "loop state"};
  return kNames[static_cast<size_t>(by)];
}

bool Alignment::Add(const Instruction* a, const Instruction* b, AlignedBy by) {
  if (!CanAlign(*a) || !SameShape(*a, *b) || to_b_.contains(a) || to_a_.contains(b)) return false;
  to_b_[a] = b;
  to_a_[b] = a;
  pairs_.push_back({a, b, by});
  return true;
}

void Alignment::Remove(const AlignedPair& pair) {
  to_b_.erase(pair.a);
  to_a_.erase(pair.b);
  std::erase_if(pairs_, [&](const AlignedPair& p) { return p.a == pair.a; });
}

Interface PositionalInterface(const FlatModule& a, const FlatModule& b) {
  Interface interface;
  const size_t parameters =
      std::min(a.computation().parameters().size(), b.computation().parameters().size());
  for (size_t i = 0; i < parameters; ++i) interface.parameters.emplace_back(i, i);
  for (size_t i = 0; i < std::min(a.results().size(), b.results().size()); ++i)
    interface.results.emplace_back(i, i);
  return interface;
}

void Alignment::AlignParameters(const Interface& interface) {
  for (const auto& [i, j] : interface.parameters)
    Add(a_.computation().parameter(i), b_.computation().parameter(j), AlignedBy::kParameter);
}

void Alignment::AlignResults(const Interface& interface) {
  for (const auto& [i, j] : interface.results)
    Add(a_.results()[static_cast<size_t>(i)], b_.results()[static_cast<size_t>(j)], AlignedBy::kResult);
}

// Aligns the k-th instruction of a key in one module with the k-th in the other, if both have equally many.
// An empty key is none.
void Alignment::AlignByKey(const Key& key_a, const Key& key_b, AlignedBy by) {
  struct Group {
    std::vector<const Instruction*> a, b;
  };
  absl::flat_hash_map<std::string, Group> groups;
  for (const Instruction* i : a_.instructions()) {
    if (to_b_.contains(i) || !CanAlign(*i) || !HasKey(a_, *i)) continue;
    if (const std::string key = key_a(*i); !key.empty()) groups[key + "\n" + ShapeKey(*i)].a.push_back(i);
  }
  for (const Instruction* i : b_.instructions()) {
    if (to_a_.contains(i) || !CanAlign(*i) || !HasKey(b_, *i)) continue;
    if (const std::string key = key_b(*i); !key.empty()) groups[key + "\n" + ShapeKey(*i)].b.push_back(i);
  }
  for (const auto& [key, group] : groups) {
    if (group.a.size() != group.b.size()) continue;
    for (size_t i = 0; i < group.a.size(); ++i) {
      const Instruction &a = *group.a[i], &b = *group.b[i];
      if (!MetadataConflicts(a, b) && SameElement(a, b)) Add(&a, &b, by);
    }
  }
}

// True if the operands of one are the partners of the other's: then a pass may have changed the opcode.
bool Alignment::HasSameOperands(const Instruction& a, const Instruction& b) const {
  if (a.operand_count() == 0 || a.operand_count() != b.operand_count()) return false;
  for (int64_t i = 0; i < a.operand_count(); ++i) {
    if (PartnerOfA(a.operand(i)) != b.operand(i)) return false;
  }
  return true;
}

// True if the operands of a commutative operation are in the other order: by their partners, if any is
// aligned, else by their opcodes.
bool Alignment::HasSwappedOperands(const AlignedPair& pair) const {
  if (pair.a->operand_count() != 2 || !IsCommutative(pair.a->opcode())) return false;
  for (const int64_t i : {0, 1}) {
    const Instruction* partner = PartnerOfA(pair.a->operand(i));
    if (partner != nullptr && partner == pair.b->operand(i)) return false;
    if (partner != nullptr && partner == pair.b->operand(1 - i)) return true;
  }
  return pair.a->operand(0)->opcode() != pair.b->operand(0)->opcode() &&
         pair.a->operand(0)->opcode() == pair.b->operand(1)->opcode();
}

// Aligns operands of aligned instructions: operand i with operand i, if they have the same opcode or
// operands.
void Alignment::AlignOperands(const AlignedPair& pair) {
  if (pair.a->opcode() != pair.b->opcode() || pair.a->operand_count() != pair.b->operand_count()) return;
  const bool is_swapped = HasSwappedOperands(pair);
  for (int64_t i = 0; i < pair.a->operand_count(); ++i) {
    const Instruction *a = pair.a->operand(i), *b = pair.b->operand(is_swapped ? 1 - i : i);
    if (a->opcode() == Opcode::kParameter && b->opcode() == Opcode::kParameter) continue;
    const bool is_likely = a->opcode() == b->opcode() || HasSameOperands(*a, *b) ||
                           ForwardedLeaf({a, 0}).first->opcode() == ForwardedLeaf({b, 0}).first->opcode();
    if (is_likely && !MetadataConflicts(*a, *b)) Add(a, b, AlignedBy::kNeighbours);
  }
}

void Alignment::AlignNeighbours() {
  for (size_t i = 0; i < pairs_.size(); ++i) AlignOperands(AlignedPair(pairs_[i]));
}

Alignment::Alignment(const FlatModule& a, const FlatModule& b, const Interface& interface,
                     const FirstStates& first_states)
    : a_(a), b_(b), hashes_a_(SubgraphHashes(a)), hashes_b_(SubgraphHashes(b)) {
  AlignParameters(interface);
  AlignResults(interface);
  AlignByKey([&](const Instruction& i) { return NameKey(a, i); },
             [&](const Instruction& i) { return NameKey(b, i); }, AlignedBy::kName);
  AlignByKey([&](const Instruction& i) { return MetadataKey(a, i); },
             [&](const Instruction& i) { return MetadataKey(b, i); }, AlignedBy::kMetadata);
  AlignByKey([&](const Instruction& i) { return fmt::format("{:x}", hashes_a_[i.index()]); },
             [&](const Instruction& i) { return fmt::format("{:x}", hashes_b_[i.index()]); },
             AlignedBy::kStructure);
  AlignNeighbours();
  AlignLoops(first_states);
  std::sort(pairs_.begin(), pairs_.end(),
            [](const AlignedPair& x, const AlignedPair& y) { return x.a->index() < y.a->index(); });
}

}  // namespace hlo::debug
