#include "debug/extract/flat_module.h"

#include <algorithm>

#include "base/arena.h"
#include "fmt/format.h"

namespace hlo::debug {
namespace {

constexpr int64_t kMaxInlined = 10'000'000;

// Returns the first instruction that reads each leaf of the parameters.
absl::flat_hash_map<LeafId, const Instruction*> ReadersOfParameters(const Computation& computation) {
  absl::flat_hash_map<LeafId, const Instruction*> readers;
  for (const Instruction* i : computation.instructions()) {
    if (i->shape().IsTuple() || i->opcode() != Opcode::kGetTupleElement) continue;
    const LeafId leaf = ForwardedLeaf({i, 0});
    if (leaf.first->opcode() == Opcode::kParameter) readers.emplace(leaf, i);
  }
  return readers;
}

std::string_view OwnOpName(const Instruction& instruction) {
  const Metadata* metadata = instruction.Get<attr::metadata>();
  return metadata == nullptr ? std::string_view() : std::string_view(metadata->op_name);
}

std::string_view FirstPart(std::string_view name) { return name.substr(0, name.find('/')); }

}  // namespace

bool IsCallOrFusion(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kFusion || instruction.opcode() == Opcode::kCall;
}

FlatModule::FlatModule(std::shared_ptr<const Module> source, const Computation& computation,
                       Inlining inlining, Parameters parameters, Expansions expansions)
    : source_(std::move(source)),
      computation_(&computation),
      module_(std::make_unique<Module>(source_->source())),
      inlining_(inlining),
      parameters_(parameters),
      expansions_(std::move(expansions)) {
  module_->set_name(source_->name());
  entry_ = module_->NewComputation(computation.name());
  Values values;
  Readers readers;
  if (parameters == Parameters::kLeaves) readers = ReadersOfParameters(computation);
  for (const Instruction* parameter : computation.parameters()) {
    if (parameters == Parameters::kLeaves) {
      values[parameter] = AddParameter(*parameter, parameter->shape(), 0, readers);
      continue;
    }
    values[parameter] = Add(*parameter, {}, -1);
    InstructionEditor::SetParameter(*entry_, parameter->Get<attr::number>(), values[parameter]);
  }
  Instruction* root = Inline(computation, std::move(values), -1);
  if (inlining_ == Inlining::kAll) root = WithElements(root);
  InstructionEditor::SetRoot(*entry_, root);
  AddResults(root);
  DropUnused(root);
}

FlatModule FlatModule::Expanded(const Expansions& expansions) const {
  FlatModule expanded(source_, *computation_, inlining_, parameters_, expansions);
  for (const Instruction* parameter : entry_->parameters())
    expanded.SetOriginal(*expanded.computation().parameter(parameter->Get<attr::number>()),
                         OriginalOf(*parameter));
  return expanded;
}

std::string FlatModule::PathOf(const Instruction& instruction) const {
  const Origin& origin = origins_[static_cast<size_t>(instruction.index())];
  std::string path(origin.instruction->name());
  for (int64_t number = origin.frame; number >= 0;) {
    const Frame& frame = frames_[static_cast<size_t>(number)];
    path = frame.number < 0 ? fmt::format("{}/{}", frame.caller->name(), path)
                            : fmt::format("{}[{}]/{}", frame.caller->name(), frame.number, path);
    number = frame.parent;
  }
  return path;
}

std::string FlatModule::OpNameOf(const Instruction& instruction) const {
  const Origin& origin = origins_[static_cast<size_t>(instruction.index())];
  std::string name(OwnOpName(*origin.instruction));
  if (name.empty()) return name;
  for (int64_t number = origin.frame; number >= 0;) {
    const Frame& frame = frames_[static_cast<size_t>(number)];
    const std::string_view prefix = OwnOpName(*frame.caller);
    if (frame.caller->opcode() == Opcode::kCall && !prefix.empty()) {
      if (FirstPart(name) == FirstPart(prefix)) break;
      name = fmt::format("{}/{}", prefix, name);
    }
    number = frame.parent;
  }
  return name;
}

// Adds a parameter for each leaf of a parameter's shape; returns the tuple of them. The original of a leaf is
// the instruction that reads it.
Instruction* FlatModule::AddParameter(const Instruction& parameter, const Shape& shape, int64_t first_leaf,
                                      const Readers& readers) {
  const auto reader = readers.find({&parameter, first_leaf});
  const Instruction& original = reader == readers.end() || shape.IsTuple() ? parameter : *reader->second;
  if (!shape.IsTuple()) {
    const auto number = static_cast<int64_t>(entry_->parameters().size());
    const AttrEntry entry{AttrId::number, {}, AttrValue::Of(number)};
    origins_.push_back({&original, -1});
    Instruction* leaf = module_->AddInstruction(entry_, Opcode::kParameter, UniqueName(original.name()),
                                                shape, {}, {&entry, 1});
    InstructionEditor::SetParameter(*entry_, number, leaf);
    return leaf;
  }
  std::vector<Instruction*> elements;
  for (const Shape& element : shape.elements()) {
    elements.push_back(AddParameter(parameter, element, first_leaf, readers));
    first_leaf += element.LeafCount();
  }
  origins_.push_back({&original, -1});
  return module_->AddInstruction(entry_, Opcode::kTuple, UniqueName(original.name()), shape, elements, {});
}

// Inlines the instructions of a computation whose parameters have values; returns the root's value.
Instruction* FlatModule::Inline(const Computation& computation, Values values, int64_t frame) {
  for (const Instruction* instruction : computation.instructions()) {
    if (!values.contains(instruction)) values[instruction] = Copy(*instruction, values, frame);
  }
  return values.at(computation.root());
}

Instruction* FlatModule::Copy(const Instruction& instruction, const Values& values, int64_t frame) {
  std::vector<Instruction*> operands;
  for (const Instruction* operand : instruction.operands()) operands.push_back(values.at(operand));
  if (inlining_ == Inlining::kAll && instruction.opcode() == Opcode::kWhile)
    operands[0] = WithElements(operands[0]);
  if (instruction.opcode() == Opcode::kGetTupleElement && operands[0]->opcode() == Opcode::kTuple)
    return operands[0]->operand(instruction.Get<attr::index>());
  if (const auto found = expansions_.find(&instruction); found != expansions_.end() && !IsInExpansion(frame))
    return Expand(instruction, operands, found->second, frame);
  if (!IsInlined(instruction)) return Add(instruction, operands, frame);
  return Enter(instruction, *instruction.called_computations().front(), operands, frame);
}

// True if a frame is part of an inlined loop or conditional. Control flow that is called there may do
// something else than in the calls that were examined.
bool FlatModule::IsInExpansion(int64_t frame) const {
  while (frame >= 0 && frames_[static_cast<size_t>(frame)].number < 0)
    frame = frames_[static_cast<size_t>(frame)].parent;
  return frame >= 0;
}

// Inlines the iterations of a loop, or the branch of a conditional.
Instruction* FlatModule::Expand(const Instruction& instruction, const std::vector<Instruction*>& operands,
                                int64_t number, int64_t frame) {
  if (instruction.opcode() == Opcode::kConditional) {
    const Computation& branch = *instruction.called_computations()[static_cast<size_t>(number)];
    return WithElements(
        Enter(instruction, branch, {operands[static_cast<size_t>(number) + 1]}, frame, number));
  }
  Instruction* state = operands[0];
  for (int64_t iteration = 1; iteration <= number; ++iteration)
    state = WithElements(Enter(instruction, *instruction.Get<attr::body>(), {state}, frame, iteration));
  return state;
}

Instruction* FlatModule::Enter(const Instruction& caller, const Computation& callee,
                               const std::vector<Instruction*>& operands, int64_t frame, int64_t number) {
  Values inner;
  for (size_t i = 0; i < callee.parameters().size(); ++i)
    inner[callee.parameter(static_cast<int64_t>(i))] = operands[i];
  frames_.push_back({&caller, frame, number});
  return Inline(callee, std::move(inner), static_cast<int64_t>(frames_.size()) - 1);
}

// Returns the number of instructions of a computation after inlining; it saturates.
int64_t FlatModule::FlatSize(const Computation& computation) {
  if (const auto found = sizes_.find(&computation); found != sizes_.end()) return found->second;
  int64_t size = 0;
  for (const Instruction* instruction : computation.instructions()) {
    size += IsCallOrFusion(*instruction) ? FlatSize(*instruction->called_computations().front()) : 1;
    size = std::min(size, kMaxInlined + 1);
  }
  return sizes_[&computation] = size;
}

bool FlatModule::IsInlined(const Instruction& instruction) {
  if (inlining_ == Inlining::kNone || !IsCallOrFusion(instruction) ||
      instruction.called_computations().size() != 1)
    return false;
  const Computation& callee = *instruction.called_computations().front();
  return static_cast<int64_t>(origins_.size()) + FlatSize(callee) <= kMaxInlined &&
         callee.parameters().size() == instruction.operands().size();
}

Instruction* FlatModule::Add(const Instruction& instruction, const std::vector<Instruction*>& operands,
                             int64_t frame) {
  std::vector<AttrEntry> attributes;
  for (const AttrEntry& entry : instruction.attributes()) {
    if (entry.id != AttrId::control_predecessors) attributes.push_back(entry);
  }
  Instruction* copy = module_->AddInstruction(entry_, instruction.opcode(), UniqueName(instruction.name()),
                                              instruction.shape(), operands, attributes);
  InstructionEditor::SetElided(*copy, instruction.is_elided());
  origins_.push_back({&instruction, frame});
  return copy;
}

std::string_view FlatModule::UniqueName(std::string_view wanted) {
  if (names_.insert(wanted).second) return wanted;
  for (int64_t number = static_cast<int64_t>(origins_.size());; ++number) {
    const std::string_view name =
        module_->arena().Copy(std::string_view(fmt::format("{}.{}", wanted, number)));
    if (names_.insert(name).second) return name;
  }
}

// Returns a `tuple` of the elements of a tuple that another instruction computes, recursively.
Instruction* FlatModule::WithElements(Instruction* value) {
  if (!value->shape().IsTuple()) return value;
  std::vector<Instruction*> elements;
  for (int64_t i = 0; i < static_cast<int64_t>(value->shape().elements().size()); ++i) {
    Instruction* element = value->opcode() == Opcode::kTuple ? value->operand(i) : ElementOf(value, i);
    elements.push_back(WithElements(element));
  }
  const bool is_changed = value->opcode() != Opcode::kTuple ||
                          !std::equal(elements.begin(), elements.end(), value->operands().begin());
  return is_changed ? AddFor(*value, Opcode::kTuple, value->shape(), elements, {}) : value;
}

Instruction* FlatModule::ElementOf(Instruction* tuple, int64_t i) {
  const AttrEntry index{AttrId::index, {}, AttrValue::Of<int64_t>(i)};
  return AddFor(*tuple, Opcode::kGetTupleElement, tuple->shape().element(i), {tuple}, {index});
}

// Adds an instruction that the source lacks, with the origin of another.
Instruction* FlatModule::AddFor(const Instruction& origin, Opcode opcode, const Shape& shape,
                                const std::vector<Instruction*>& operands,
                                const std::vector<AttrEntry>& attributes) {
  origins_.push_back(origins_[static_cast<size_t>(origin.index())]);
  return module_->AddInstruction(entry_, opcode, UniqueName(origin.name()), shape, operands, attributes);
}

void FlatModule::AddResults(const Instruction* root) {
  if (root->opcode() != Opcode::kTuple) {
    results_.push_back(root);
    return;
  }
  for (const Instruction* element : root->operands()) AddResults(element);
}

// Keeps the parameters and what the root depends on.
void FlatModule::DropUnused(const Instruction* root) {
  absl::flat_hash_set<const Instruction*> used(entry_->parameters().begin(), entry_->parameters().end());
  std::vector<const Instruction*> work = {root};
  while (!work.empty()) {
    const Instruction* instruction = work.back();
    work.pop_back();
    used.insert(instruction);
    for (const Instruction* operand : instruction->operands()) {
      if (!used.contains(operand)) work.push_back(operand);
    }
  }
  std::vector<Instruction*> kept;
  std::vector<Origin> origins;
  for (Instruction* instruction : entry_->instructions()) {
    if (!used.contains(instruction)) continue;
    kept.push_back(instruction);
    origins.push_back(origins_[static_cast<size_t>(instruction->index())]);
  }
  InstructionEditor::SetInstructions(*entry_, std::move(kept));
  origins_ = std::move(origins);
}

}  // namespace hlo::debug
