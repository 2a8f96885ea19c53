// Compares modules without running them.

#include "debug/diff/diff.h"
#include "hlo_run/print.h"

namespace hlo::debug {
namespace {

std::string StructureText(const FlatModule& flat, const Instruction& instruction) {
  return Print(flat.OriginalOf(instruction), {.metadata = false, .layouts = false, .large_constants = false});
}

// Elided constants are equal, as their text is.
bool IsEqualConstant(const Instruction& a, const Instruction& b) {
  if (a.is_elided() && b.is_elided()) return true;
  const Literal *x = a.Get<attr::literal>(), *y = b.Get<attr::literal>();
  if (x == nullptr || y == nullptr || x->data() == nullptr || y->data() == nullptr) return x == y;
  return CompareArrays(*x, *y, CompareRule::Exact()).ok();
}

// True if both have the same opcode and attributes and aligned operands. Operands without a partner differ
// already by themselves, also in their types.
bool IsSame(const Alignment& alignment, const FlatModule& flat_a, const Instruction& a,
            const FlatModule& flat_b, const Instruction& b) {
  if (Signature(a) != Signature(b) && StructureText(flat_a, a) != StructureText(flat_b, b)) return false;
  if (a.opcode() == Opcode::kConstant && a.shape().IsArray()) return IsEqualConstant(a, b);
  for (int64_t i = 0; i < a.operand_count(); ++i) {
    const Instruction *operand = a.operand(i), *swapped = b.operand(b.operand_count() - 1 - i);
    const bool is_swapped = IsCommutative(a.opcode()) && alignment.PartnerOfB(swapped) == operand;
    const bool is_same = alignment.PartnerOfB(b.operand(i)) == operand || is_swapped;
    if (alignment.PartnerOfA(operand) != nullptr && !is_same) return false;
  }
  return true;
}

}  // namespace

StructuralDiff DiffStructure(const CheckedModule& a, const CheckedModule& b) {
  const FlatModule flat_a(a.shared(), *a.module().entry()), flat_b(b.shared(), *b.module().entry());
  const Alignment alignment(flat_a, flat_b);
  StructuralDiff diff;
  for (const AlignedPair& pair : alignment.pairs()) {
    if (IsSame(alignment, flat_a, *pair.a, flat_b, *pair.b)) {
      ++diff.same;
      continue;
    }
    diff.changed.push_back({flat_a.PathOf(*pair.a), flat_b.PathOf(*pair.b), StructureText(flat_a, *pair.a),
                            StructureText(flat_b, *pair.b)});
  }
  absl::flat_hash_set<const Instruction*> loops;
  for (const LoopPair& pair : alignment.loops()) {
    if (alignment.PartnerOfA(pair.a) != nullptr) continue;
    loops.insert({pair.a, pair.b});
    diff.changed.push_back({flat_a.PathOf(*pair.a), flat_b.PathOf(*pair.b), StructureText(flat_a, *pair.a),
                            StructureText(flat_b, *pair.b)});
  }
  for (const Instruction* i : flat_a.instructions()) {
    if (i->opcode() != Opcode::kTuple && alignment.PartnerOfA(i) == nullptr && !loops.contains(i))
      diff.only_a.push_back({flat_a.PathOf(*i), "", StructureText(flat_a, *i), ""});
  }
  for (const Instruction* i : flat_b.instructions()) {
    if (i->opcode() != Opcode::kTuple && alignment.PartnerOfB(i) == nullptr && !loops.contains(i))
      diff.only_b.push_back({"", flat_b.PathOf(*i), "", StructureText(flat_b, *i)});
  }
  return diff;
}

}  // namespace hlo::debug
