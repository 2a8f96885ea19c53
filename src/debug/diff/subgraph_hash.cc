// Hashes of subgraphs, for alignments by structure.

#include <algorithm>

#include "absl/hash/hash.h"
#include "debug/diff/align.h"
#include "debug/diff/value_types.h"
#include "hlo_run/print.h"

namespace hlo::debug {

bool IsCommutative(Opcode opcode) { return Info(opcode).has(kAssociative); }

namespace {

// True for attributes that change no value.
bool IsAnnotation(AttrId id) {
  for (const AttrId common : CommonAttributes()) {
    if (id == common) return true;
  }
  return false;
}

// Copies the instruction without annotations and prints it without names.
std::string PrintBare(const Instruction& instruction, Types types) {
  std::vector<AttrEntry> kept;
  for (const AttrEntry& entry : instruction.attributes()) {
    if (!IsAnnotation(entry.id)) kept.push_back(entry);
  }
  Module module(instruction.parent()->module()->source());
  Computation* computation = module.NewComputation("bare");
  const std::vector<Instruction*> operands(instruction.operands().begin(), instruction.operands().end());
  const Shape shape = types == Types::kDeclared ? instruction.shape() : WithWidestTypes(instruction.shape());
  Instruction* bare = module.AddInstruction(computation, instruction.opcode(), "bare", shape, operands, kept);
  InstructionEditor::SetElided(*bare, instruction.is_elided());
  return Print(*bare, {.form = PrintForm::kCanonical, .layouts = false, .large_constants = false});
}

uint64_t ConstantHash(const Literal& literal) {
  if (literal.shape().IsTuple()) {
    uint64_t hash = 0;
    for (const Literal& element : literal.elements()) hash = absl::HashOf(hash, ConstantHash(element));
    return hash;
  }
  if (literal.data() == nullptr) return 0;
  const Literal wide = ConvertTo(literal, WithWidestTypes(literal.shape()));
  return absl::HashOf(
      absl::string_view(reinterpret_cast<const char*>(wide.data()), static_cast<size_t>(wide.byte_count())));
}

}  // namespace

std::string Signature(const Instruction& instruction) { return PrintBare(instruction, Types::kDeclared); }

std::vector<uint64_t> SubgraphHashes(const FlatModule& flat, const std::vector<uint64_t>& parameters) {
  std::vector<uint64_t> hashes;
  for (const Instruction* instruction : flat.instructions()) {
    if (instruction->opcode() == Opcode::kParameter && !parameters.empty()) {
      hashes.push_back(parameters[static_cast<size_t>(instruction->Get<attr::number>())]);
      continue;
    }
    if (IsConversionOfKind(*instruction)) {
      hashes.push_back(hashes[instruction->operand(0)->index()]);
      continue;
    }
    std::vector<uint64_t> operands;
    for (const Instruction* operand : instruction->operands()) operands.push_back(hashes[operand->index()]);
    if (IsCommutative(instruction->opcode())) std::sort(operands.begin(), operands.end());
    const Literal* literal = instruction->Get<attr::literal>();
    hashes.push_back(absl::HashOf(PrintBare(*instruction, Types::kWidest), operands,
                                  literal == nullptr ? 0 : ConstantHash(*literal)));
  }
  return hashes;
}

}  // namespace hlo::debug
