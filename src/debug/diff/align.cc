#include "debug/diff/align.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "debug/diff/value_types.h"
#include "debug/program_place.h"
#include "fmt/format.h"

namespace hlo::debug {
namespace {

// Tuples are forwarded, so aligning them is useless.
bool CanAlign(const Instruction& instruction) {
  return instruction.opcode() != Opcode::kTuple && !instruction.shape().IsToken();
}

// Passes change the results of conditionals, so an element of another tuple is another value.
bool SameElement(const Instruction& a, const Instruction& b) {
  if (a.opcode() != Opcode::kGetTupleElement || b.opcode() != Opcode::kGetTupleElement) return true;
  return a.Get<attr::index>() == b.Get<attr::index>() &&
         IsComparable(a.operand(0)->shape(), b.operand(0)->shape());
}

// True if the values of both can be compared. Elements of the states of loops and of the results of
// conditionals have the same dimensions.
bool CanPair(const Instruction& a, const Instruction& b) {
  if (!CanAlign(a)) return false;
  if (a.opcode() == Opcode::kGetTupleElement || b.opcode() == Opcode::kGetTupleElement)
    return IsComparable(a.shape(), b.shape());
  return IsComparable(a.shape(), b.shape()) || HasSameElements(a.shape(), b.shape());
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
  const std::string op_name = flat.OpNameOf(instruction);
  if (op_name.empty()) return "";
  return fmt::format("{}\n{}\n{}", Name((is_moved ? original : instruction).opcode()), op_name,
                     SourceLine(original));
}

// True if `name` is that of an operation within the one that begins `whole`: `add` and `jit(f)/add`.
bool IsRelativeName(std::string_view name, std::string_view whole) {
  return whole.size() > name.size() && whole.ends_with(name) && whole[whole.size() - name.size() - 1] == '/';
}

std::string ShapeKey(const Instruction& instruction, Types types) {
  const Shape& shape = instruction.shape();
  if (types == Types::kDeclared) return ToString(shape);
  if (!shape.IsArray() || shape.HasDynamicDim()) return ToString(WithWidestTypes(shape));
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  std::erase(dims, 1);
  return ToString(Shape::Array(WidestOfKind(shape.type()), dims));
}

}  // namespace

bool Alignment::HaveOtherOrigins(const Instruction& a, const Instruction& b) const {
  if (!a.Has<attr::metadata>() || !b.Has<attr::metadata>()) return false;
  const std::string name_a = a_.OpNameOf(a), name_b = b_.OpNameOf(b);
  return name_a != name_b && !IsRelativeName(name_a, name_b) && !IsRelativeName(name_b, name_a);
}

std::string_view Name(AlignedBy by) {
  constexpr std::string_view kNames[] = {"parameter", "result",     "name",      "metadata",
                                         "structure", "neighbours", "loop state"};
  return kNames[static_cast<size_t>(by)];
}

bool Alignment::Add(const Instruction* a, const Instruction* b, AlignedBy by) {
  if (!CanPair(*a, *b) || to_b_.contains(a) || to_a_.contains(b)) return false;
  to_b_[a] = b;
  to_a_[b] = a;
  pairs_.push_back({a, b, by});
  return true;
}

// Adds a copy of the partner of `a`. Constants are compared with the instructions that use them.
bool Alignment::AddCopy(const Instruction* a, const Instruction* b) {
  if (a->opcode() != b->opcode() || a->opcode() == Opcode::kConstant || a->opcode() == Opcode::kParameter)
    return false;
  if (!CanPair(*a, *b) || !to_b_.contains(a) || to_a_.contains(b)) return false;
  to_a_[b] = a;
  pairs_.push_back({a, b, AlignedBy::kNeighbours});
  return true;
}

void Alignment::Remove(const AlignedPair& pair) {
  to_a_.erase(pair.b);
  std::erase_if(pairs_, [&](const AlignedPair& p) { return p.b == pair.b; });
  if (PartnerOfA(pair.a) != pair.b) return;
  to_b_.erase(pair.a);
  for (const AlignedPair& copy : pairs_) {
    if (copy.a == pair.a) to_b_.try_emplace(copy.a, copy.b);
  }
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
void Alignment::AlignByKey(const Key& key_a, const Key& key_b, AlignedBy by, Types types) {
  struct Group {
    std::vector<const Instruction*> a, b;
  };
  // In the order of `a`, because neighbours are aligned in the order of the pairs.
  std::vector<Group> groups;
  absl::flat_hash_map<std::string, size_t> numbers;
  for (const Instruction* i : a_.instructions()) {
    if (to_b_.contains(i) || !CanAlign(*i) || !HasKey(a_, *i)) continue;
    const std::string key = key_a(*i);
    if (key.empty()) continue;
    const auto [number, is_new] = numbers.try_emplace(key + "\n" + ShapeKey(*i, types), groups.size());
    if (is_new) groups.emplace_back();
    groups[number->second].a.push_back(i);
  }
  for (const Instruction* i : b_.instructions()) {
    if (to_a_.contains(i) || !CanAlign(*i) || !HasKey(b_, *i)) continue;
    const std::string key = key_b(*i);
    const auto number = key.empty() ? numbers.end() : numbers.find(key + "\n" + ShapeKey(*i, types));
    if (number != numbers.end()) groups[number->second].b.push_back(i);
  }
  for (const Group& group : groups) {
    if (group.a.size() != group.b.size()) continue;
    for (size_t i = 0; i < group.a.size(); ++i) {
      const Instruction &a = *group.a[i], &b = *group.b[i];
      if (!HaveOtherOrigins(a, b) && SameElement(a, b)) Add(&a, &b, by);
    }
  }
}

// Types of values are compared as declared, or only their kinds and the dimensions that are not 1, since
// passes replace small types by wide ones, and move reshapes.
void Alignment::AlignByKeys(Types types) {
  AlignByKey([&](const Instruction& i) { return NameKey(a_, i); },
             [&](const Instruction& i) { return NameKey(b_, i); }, AlignedBy::kName, types);
  AlignByKey([&](const Instruction& i) { return MetadataKey(a_, i); },
             [&](const Instruction& i) { return MetadataKey(b_, i); }, AlignedBy::kMetadata, types);
  AlignByKey([&](const Instruction& i) { return fmt::format("{:x}", hashes_a_[i.index()]); },
             [&](const Instruction& i) { return fmt::format("{:x}", hashes_b_[i.index()]); },
             AlignedBy::kStructure, types);
}

// True if the operands of one are the partners of the other's: then a pass may have changed the opcode.
bool Alignment::HasSameOperands(const Instruction& a, const Instruction& b) const {
  if (a.operand_count() == 0 || a.operand_count() != b.operand_count()) return false;
  for (int64_t i = 0; i < a.operand_count(); ++i) {
    const Instruction *of_a = a.operand(i), *of_b = b.operand(i);
    if (PartnerOfB(of_b) != of_a && PartnerOfB(WithoutConversions(of_b)) != WithoutConversions(of_a))
      return false;
  }
  return true;
}

// True if the operands of a commutative operation are in the other order: by their partners, if any is
// aligned, else by their opcodes.
bool Alignment::HasSwappedOperands(const AlignedPair& pair) const {
  if (pair.a->operand_count() != 2 || !IsCommutative(pair.a->opcode())) return false;
  for (const int64_t i : {0, 1}) {
    const Instruction* operand = pair.a->operand(i);
    if (PartnerOfB(pair.b->operand(i)) == operand) return false;
    if (PartnerOfB(pair.b->operand(1 - i)) == operand) return true;
  }
  return pair.a->operand(0)->opcode() != pair.b->operand(0)->opcode() &&
         pair.a->operand(0)->opcode() == pair.b->operand(1)->opcode();
}

// True for instructions that give the elements another shape at most, for which passes exchange them.
bool IsRearrangement(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kReshape || instruction.opcode() == Opcode::kBitcast ||
         instruction.opcode() == Opcode::kCopy;
}

// True if the operands of aligned instructions probably are aligned, too.
bool HasAlikeOperands(const Instruction& a, const Instruction& b) {
  return a.opcode() == b.opcode() || (IsRearrangement(a) && IsRearrangement(b));
}

// Returns the value of a select that has an opcode, if only one of them has; else the instruction itself.
const Instruction* SelectedValue(const Instruction* select, Opcode opcode) {
  if (select->opcode() != Opcode::kSelect || opcode == Opcode::kSelect) return select;
  const Instruction *on_true = WithoutConversions(select->operand(1)),
                    *on_false = WithoutConversions(select->operand(2));
  if ((on_true->opcode() == opcode) == (on_false->opcode() == opcode)) return select;
  return on_true->opcode() == opcode ? on_true : on_false;
}

// Follows what only one module has: conversions between types of one kind, rearrangements, and selects that
// replace conditionals.
std::pair<const Instruction*, const Instruction*> SkipAdditions(const Instruction* a, const Instruction* b) {
  if (a->opcode() == b->opcode()) return {a, b};
  a = WithoutConversions(a);
  b = WithoutConversions(b);
  if (IsRearrangement(*a) != IsRearrangement(*b)) {
    const Instruction* inner = WithoutConversions((IsRearrangement(*a) ? a : b)->operand(0));
    const Instruction* other = IsRearrangement(*a) ? b : a;
    const bool is_same = inner->opcode() == other->opcode() && CanPair(*inner, *other);
    if (is_same) return IsRearrangement(*a) ? std::pair(inner, b) : std::pair(a, inner);
  }
  return {SelectedValue(a, b->opcode()), SelectedValue(b, a->opcode())};
}

// Returns the operands of aligned instructions that probably are aligned, too: operand i with operand i, if
// they have the same opcode or operands.
std::vector<AlignedPair> Alignment::LikelyOperands(const AlignedPair& pair) const {
  if (!HasAlikeOperands(*pair.a, *pair.b)) {
    const Instruction *a = WithoutConversions(pair.a), *b = WithoutConversions(pair.b);
    if ((a != pair.a || b != pair.b) && a->opcode() == b->opcode()) return LikelyOperands({a, b, pair.by});
    return {};
  }
  if (pair.a->operand_count() != pair.b->operand_count()) return {};
  std::vector<AlignedPair> likely;
  const bool is_swapped = HasSwappedOperands(pair);
  for (int64_t i = 0; i < pair.a->operand_count(); ++i) {
    auto [a, b] = SkipAdditions(pair.a->operand(i), pair.b->operand(is_swapped ? 1 - i : i));
    // A pass that exchanges rearrangements gives the new ones the metadata of their operands or users.
    while (IsRearrangement(*a) && IsRearrangement(*b) && HaveOtherOrigins(*a, *b))
      std::tie(a, b) = SkipAdditions(a->operand(0), b->operand(0));
    if (a->opcode() == Opcode::kParameter && b->opcode() == Opcode::kParameter) continue;
    const bool is_likely = HasAlikeOperands(*a, *b) || HasSameOperands(*a, *b) ||
                           ForwardedLeaf({a, 0}).first->opcode() == ForwardedLeaf({b, 0}).first->opcode();
    if (is_likely && !HaveOtherOrigins(*a, *b)) likely.push_back({a, b, AlignedBy::kNeighbours});
  }
  return likely;
}

void Alignment::AlignNeighbours() {
  for (size_t i = 0; i < pairs_.size(); ++i) {
    for (const AlignedPair& likely : LikelyOperands(AlignedPair(pairs_[i])))
      Add(likely.a, likely.b, likely.by);
  }
}

void Alignment::AlignCopies() {
  for (size_t i = 0; i < pairs_.size(); ++i) {
    for (const AlignedPair& likely : LikelyOperands(AlignedPair(pairs_[i]))) AddCopy(likely.a, likely.b);
  }
}

Alignment::Alignment(const FlatModule& a, const FlatModule& b, const Interface& interface,
                     const FirstStates& first_states)
    : a_(a), b_(b), hashes_a_(SubgraphHashes(a)), hashes_b_(SubgraphHashes(b)) {
  AlignParameters(interface);
  AlignResults(interface);
  AlignByKeys(Types::kDeclared);
  AlignNeighbours();
  AlignByKeys(Types::kWidest);
  AlignNeighbours();
  AlignLoops(first_states);
  AlignCopies();
  std::stable_sort(pairs_.begin(), pairs_.end(),
                   [](const AlignedPair& x, const AlignedPair& y) { return x.a->index() < y.a->index(); });
}

}  // namespace hlo::debug
