// Reductions of dead code, which other reductions drop: a judge may need it.

#include <algorithm>

#include "base/status.h"
#include "debug/minimize/reductions.h"
#include "hlo_run/print.h"

namespace hlo::debug {
namespace {

// The number of roots that are tried for a case with dead code.
constexpr size_t kMaxRootsBesideDeadCode = 16;

std::vector<Instruction*> AllDeadCode(const Module& module) {
  std::vector<Instruction*> dead;
  for (const Computation* computation : module.computations()) {
    for (Instruction* i : DeadCode(*computation)) dead.push_back(i);
  }
  return dead;
}

// Returns the case of a module that was changed in place, with its dead code.
absl::StatusOr<SharedCase> MakeWholeCase(Module& changed, const std::vector<Literal>& inputs) {
  ModuleHeader& header = changed.mutable_header();
  header.entry_layout = nullptr;
  header.input_output_alias.clear();
  header.buffer_donor.clear();
  header.spmd_propagation_to_output = {false};
  PrintOptions print;
  print.own_order = true;
  return MakeTestCase(Print(changed, print), inputs);
}

// Removes the dead instructions in a range, and those that depend on them.
absl::StatusOr<SharedCase> WithoutDeadCode(const TestCase& test, int64_t begin, int64_t end) {
  const std::shared_ptr<Module> module = CopyModule(test);
  const std::vector<Instruction*> dead = AllDeadCode(*module);
  absl::flat_hash_set<const Instruction*> removed(dead.begin() + begin, dead.begin() + end);
  const auto is_removed = [&](const Instruction* i) { return removed.contains(i); };
  for (Computation* computation : module->computations()) {
    std::vector<Instruction*> kept;
    for (Instruction* i : computation->instructions()) {
      const auto before = i->Get<attr::control_predecessors>();
      if (std::any_of(i->operands().begin(), i->operands().end(), is_removed) ||
          std::any_of(before.begin(), before.end(), is_removed))
        removed.insert(i);
      if (!removed.contains(i)) kept.push_back(i);
    }
    InstructionEditor::SetInstructions(*computation, std::move(kept));
  }
  return MakeWholeCase(*module, test.inputs);
}

// Makes results of the dead values of the entry that no other instruction reads.
absl::StatusOr<SharedCase> WithDeadResults(const TestCase& test) {
  const std::shared_ptr<Module> module = CopyModule(test);
  Computation* entry = module->entry();
  const std::vector<Instruction*> dead = DeadCode(*entry);
  absl::flat_hash_set<const Instruction*> read;
  for (const Instruction* i : entry->instructions()) read.insert(i->operands().begin(), i->operands().end());
  std::vector<Instruction*> results = {entry->root()};
  if (entry->root()->opcode() == Opcode::kTuple)
    results.assign(entry->root()->operands().begin(), entry->root()->operands().end());
  const size_t live = results.size();
  for (Instruction* i : dead) {
    if (!read.contains(i) && !i->shape().IsToken()) results.push_back(i);
  }
  if (results.size() == live) return absl::InvalidArgumentError("no dead value");
  std::vector<Shape> shapes;
  for (const Instruction* i : results) shapes.push_back(i->shape());
  InstructionEditor::SetRoot(*entry, module->AddInstruction(entry, Opcode::kTuple, "results.and.dead.values",
                                                            Shape::Tuple(std::move(shapes)), results, {}));
  // The former root is dead unless it is a result.
  return MakeTestCase(module, test.inputs);
}

// Makes an instruction the root; what only the former root needs becomes dead.
absl::StatusOr<SharedCase> WithOtherRoot(const TestCase& test, std::string_view name) {
  const std::shared_ptr<Module> module = CopyModule(test);
  for (Instruction* i : module->entry()->instructions()) {
    if (i->name() == name) InstructionEditor::SetRoot(*module->entry(), i);
  }
  return MakeWholeCase(*module, test.inputs);
}

}  // namespace

std::vector<Proposal> ProposeWithoutDeadCode(const SharedCase& test) {
  const auto count = static_cast<int64_t>(AllDeadCode(test->module.module()).size());
  std::vector<Proposal> proposals;
  if (count == 0) return proposals;
  proposals.push_back([=] { return WithoutDeadCode(*test, 0, count); });
  for (const auto& [begin, end] : Chunks(count))
    proposals.push_back([=, begin = begin, end = end] { return WithoutDeadCode(*test, begin, end); });
  return proposals;
}

std::vector<Proposal> ProposeDeadResults(const SharedCase& test) {
  if (DeadCode(*test->module.module().entry()).empty()) return {};
  return {[=] { return WithDeadResults(*test); }};
}

std::vector<Proposal> ProposeRootsBesideDeadCode(const SharedCase& test) {
  const Computation& entry = *test->module.module().entry();
  if (DeadCode(entry).empty()) return {};
  std::vector<Proposal> proposals;
  for (const Instruction* i : entry.instructions()) {
    if (i == entry.root() || i->shape().IsToken()) continue;
    if (proposals.size() == kMaxRootsBesideDeadCode) break;
    proposals.push_back([test, name = std::string(i->name())] { return WithOtherRoot(*test, name); });
  }
  return proposals;
}

}  // namespace hlo::debug
