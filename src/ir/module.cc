#include "hlo_run/module.h"

#include <algorithm>

#include "base/arena.h"
#include "base/check.h"

namespace hlo {
namespace {

// Returns the called computations in the order of text-format 9.3: the body of a `while` before its
// condition, `select` of a select-and-scatter before `scatter`, otherwise as written.
absl::Span<Computation* const> FindCalled(Arena& arena, absl::Span<const AttrEntry> attributes) {
  absl::InlinedVector<Computation*, 2> called;
  auto add = [&](Computation* c) {
    if (c != nullptr) called.push_back(c);
  };
  const AttrEntry* condition = nullptr;
  const AttrEntry* scatter = nullptr;
  const AttrEntry* otherwise = nullptr;  // The true branch comes first in either spelling.
  for (const AttrEntry& entry : attributes) {
    const AttrKind kind = Info(entry.id).kind;
    if (kind == AttrKind::kComputation) {
      if (entry.id == AttrId::condition)
        condition = &entry;
      else if (entry.id == AttrId::scatter)
        scatter = &entry;
      else if (entry.id == AttrId::false_computation)
        otherwise = &entry;
      else
        add(entry.value.As<Computation*>());
    } else if (kind == AttrKind::kComputationList) {
      for (Computation* c : entry.value.As<attr_kind::ComputationList>()) add(c);
    }
  }
  if (condition != nullptr) add(condition->value.As<Computation*>());
  if (scatter != nullptr) add(scatter->value.As<Computation*>());
  if (otherwise != nullptr) add(otherwise->value.As<Computation*>());
  return arena.Copy(absl::Span<Computation* const>(called));
}

}  // namespace

bool Computation::IsEntry() const { return module_->entry() == this; }

Module::Module(std::shared_ptr<const SourceText> source)
    : source_(std::move(source)), arena_(std::make_unique<Arena>()) {}
Module::~Module() = default;

Computation* Module::FindComputation(std::string_view name) const {
  const auto it = std::find_if(computations_.begin(), computations_.end(),
                               [&](const Computation* c) { return c->name() == name; });
  return it == computations_.end() ? nullptr : *it;
}

int64_t Module::instruction_count() const {
  int64_t count = 0;
  for (const Computation* c : computations_) count += static_cast<int64_t>(c->instructions().size());
  return count;
}

Computation* Module::NewComputation(std::string_view name) {
  auto* computation = arena_->New<Computation>();
  computation->name_ = name;
  computation->module_ = this;
  computation->instructions_.reserve(8);
  return computation;
}

void Module::AddComputation(Computation* computation) { computations_.push_back(computation); }

Instruction* Module::AddInstruction(Computation* computation, Opcode opcode, std::string_view name,
                                    Shape shape, absl::Span<Instruction* const> operands,
                                    absl::Span<const AttrEntry> attributes) {
  auto* instruction = arena_->New<Instruction>();
  instruction->opcode_ = opcode;
  instruction->name_ = name;
  instruction->shape_ = std::move(shape);
  instruction->parent_ = computation;
  instruction->index_ = static_cast<int32_t>(computation->instructions_.size());
  instruction->operands_ = arena_->Copy(operands);
  instruction->attributes_ = arena_->Copy(attributes);
  instruction->called_ = FindCalled(*arena_, attributes);
  computation->instructions_.push_back(instruction);
  return instruction;
}

void InstructionEditor::SetOperands(Module& m, Instruction& i, absl::Span<Instruction* const> operands) {
  i.operands_ = m.arena().Copy(operands);
}

void InstructionEditor::SetAttributes(Module& m, Instruction& i, absl::Span<const AttrEntry> attributes) {
  i.attributes_ = m.arena().Copy(attributes);
  i.called_ = FindCalled(m.arena(), i.attributes_);
}

void InstructionEditor::SetAttribute(Module& m, Instruction& i, AttrId id, AttrValue value) {
  std::vector<AttrEntry> entries(i.attributes_.begin(), i.attributes_.end());
  auto it = std::find_if(entries.begin(), entries.end(), [&](const AttrEntry& e) { return e.id == id; });
  if (it == entries.end())
    entries.push_back({id, {}, value});
  else
    it->value = value;
  SetAttributes(m, i, entries);
}

void InstructionEditor::SetParameter(Computation& c, int64_t number, Instruction* parameter) {
  HLO_CHECK(number >= 0);
  if (number >= static_cast<int64_t>(c.parameters_.size())) c.parameters_.resize(number + 1);
  c.parameters_[number] = parameter;
}

void InstructionEditor::SetInstructions(Computation& c, std::vector<Instruction*> instructions) {
  c.instructions_ = std::move(instructions);
  for (size_t i = 0; i < c.instructions_.size(); ++i) c.instructions_[i]->index_ = static_cast<int32_t>(i);
}

std::vector<Instruction*> PostOrder(const Computation& computation) {
  return PostOrder(computation.instructions());
}

std::vector<Instruction*> PostOrder(absl::Span<Instruction* const> stored, bool follow_control) {
  const size_t count = stored.size();
  enum State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> state(count, kNew);
  std::vector<bool> used(count, false);
  for (const Instruction* i : stored) {
    for (const Instruction* operand : i->operands()) used[operand->index()] = true;
  }
  std::vector<Instruction*> order, stack;
  order.reserve(count);
  for (Instruction* start : stored) {
    if (used[start->index()]) continue;
    stack.push_back(start);
    while (!stack.empty()) {
      Instruction* top = stack.back();
      State& s = state[top->index()];
      if (s == kNew) {
        s = kOpen;
        for (auto it = top->operands().rbegin(); it != top->operands().rend(); ++it) {
          if (state[(*it)->index()] == kNew) stack.push_back(*it);
        }
        if (!follow_control) continue;
        for (Instruction* predecessor : top->Get<attr::control_predecessors>()) {
          if (state[predecessor->index()] == kNew) stack.push_back(predecessor);
        }
      } else {
        stack.pop_back();
        if (s == kOpen) order.push_back(top);
        s = kDone;
      }
    }
  }
  return order;
}

}  // namespace hlo
