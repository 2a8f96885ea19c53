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

// Equal values of other types of the same kind have the same hash. Converts few elements at a time, because
// constants may be large.
uint64_t ArrayHash(const Literal& array) {
  constexpr int64_t kChunk = int64_t{1} << 16;
  const int64_t count = array.element_count(), width = count == 0 ? 0 : array.byte_count() / count;
  uint64_t hash = 0;
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t size = std::min(kChunk, count - begin);
    absl::StatusOr<Literal> chunk = Literal::Create(Shape::Array(array.type(), {size}));
    if (!chunk.ok()) return 0;
    std::copy_n(array.data() + begin * width, size * width, chunk->mutable_data());
    const Literal wide = ConvertTo(*chunk, WithWidestTypes(chunk->shape()));
    hash = absl::HashOf(hash, absl::string_view(reinterpret_cast<const char*>(wide.data()),
                                                static_cast<size_t>(wide.byte_count())));
  }
  return hash;
}

uint64_t ConstantHash(const Literal& literal) {
  if (literal.shape().IsTuple()) {
    uint64_t hash = 0;
    for (const Literal& element : literal.elements()) hash = absl::HashOf(hash, ConstantHash(element));
    return hash;
  }
  return literal.data() == nullptr ? 0 : ArrayHash(literal);
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
