#include "reference/program.h"

#include <algorithm>
#include <set>
#include <utility>

#include "spmd/device_grid.h"

namespace hlo::reference {
namespace {

constexpr ReferenceOp kReferences[] = {
#define HLO_OP(name, text, min, max, attrs, shape_rule, reference, traits) &reference,
#include "hlo_run/opcodes.def"
};

std::vector<bool> FindLive(const Computation& computation, const Effects& effects) {
  std::vector<bool> live(computation.instructions().size(), false);
  std::vector<const Instruction*> pending;
  auto need = [&](const Instruction* instruction) {
    if (live[instruction->index()]) return;
    live[instruction->index()] = true;
    pending.push_back(instruction);
  };
  need(computation.root());
  for (const Instruction* instruction : computation.instructions()) {
    if (effects.Has(*instruction)) need(instruction);
  }
  while (!pending.empty()) {
    const Instruction* instruction = pending.back();
    pending.pop_back();
    for (const Instruction* operand : instruction->operands()) need(operand);
    for (const Instruction* before : instruction->Get<attr::control_predecessors>()) need(before);
  }
  return live;
}

bool IsReceive(const Instruction* instruction) {
  return instruction->opcode() == Opcode::kRecvDone && !instruction->Get<attr::is_host_transfer>();
}

// Returns the instructions with those that wait for a send postponed while others can run.
std::vector<const Instruction*> ReceivesLast(const std::vector<const Instruction*>& order) {
  absl::flat_hash_map<const Instruction*, size_t> position;
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  std::vector<std::vector<size_t>> users(order.size());
  std::vector<int64_t> missing(order.size(), 0);
  const auto add_edge = [&](const Instruction* before, size_t user) {
    users[position[before]].push_back(user);
    ++missing[user];
  };
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Instruction* operand : order[i]->operands()) add_edge(operand, i);
    for (const Instruction* before : order[i]->Get<attr::control_predecessors>()) add_edge(before, i);
  }
  std::set<std::pair<bool, size_t>> ready;  // Sorts receives after the other instructions.
  for (size_t i = 0; i < order.size(); ++i) {
    if (missing[i] == 0) ready.insert({IsReceive(order[i]), i});
  }
  std::vector<const Instruction*> result;
  while (!ready.empty()) {
    const size_t next = ready.begin()->second;
    ready.erase(ready.begin());
    result.push_back(order[next]);
    for (const size_t user : users[next]) {
      if (--missing[user] == 0) ready.insert({IsReceive(order[user]), user});
    }
  }
  return result;
}

// Scans the steps backwards and records last uses.
class LastUses {
 public:
  explicit LastUses(const Computation& computation)
      : used_(computation.instructions().size(), 0), used_whole_(used_) {
    used_[computation.root()->index()] = used_whole_[computation.root()->index()] = 1;
  }
  bool Take(int64_t slot) { return std::exchange(used_[slot], 1) == 0; }
  void UseWhole(int64_t slot) { used_whole_[slot] = 1; }
  bool TakeElement(int64_t slot, int64_t index) {
    return elements_.insert({slot, index}).second && used_whole_[slot] == 0;
  }

 private:
  std::vector<uint8_t> used_, used_whole_;
  absl::flat_hash_set<std::pair<int64_t, int64_t>> elements_;
};

}  // namespace

ReferenceOp Reference(Opcode opcode) { return kReferences[static_cast<size_t>(opcode)]; }

const Computation* SuppliedComputation(const Instruction& instruction, const CustomCalls* custom_calls) {
  if (custom_calls == nullptr || instruction.opcode() != Opcode::kCustomCall) return nullptr;
  const Module* module = custom_calls->FindModule(instruction.Get<attr::custom_call_target>());
  return module == nullptr ? nullptr : module->entry();
}

std::vector<const Computation*> CalledFrom(const Computation& entry, int64_t* depth,
                                           const CustomCalls* custom_calls) {
  struct Visit {
    const Computation* computation;
    std::vector<const Computation*> callees;
    size_t next = 0;
  };
  auto visit = [&](const Computation* computation) {
    Visit result{computation, {}};
    for (const Instruction* instruction : computation->instructions()) {
      for (const Computation* callee : instruction->called_computations()) result.callees.push_back(callee);
      const Computation* supplied = SuppliedComputation(*instruction, custom_calls);
      if (supplied != nullptr) result.callees.push_back(supplied);
    }
    return result;
  };
  absl::flat_hash_map<const Computation*, int64_t> depths;  // 0 while being visited.
  std::vector<const Computation*> order;
  std::vector<Visit> stack = {visit(&entry)};
  bool is_endless = false;
  depths[&entry] = 0;
  while (!stack.empty()) {
    Visit& top = stack.back();
    if (top.next < top.callees.size()) {
      const Computation* callee = top.callees[top.next++];
      const auto [it, is_first] = depths.emplace(callee, 0);
      if (is_first)
        stack.push_back(visit(callee));
      else
        is_endless |= it->second == 0;
      continue;
    }
    int64_t deepest = 0;
    for (const Computation* callee : top.callees) deepest = std::max(deepest, depths[callee]);
    depths[top.computation] = deepest + 1;
    order.push_back(top.computation);
    stack.pop_back();
  }
  *depth = is_endless ? kEndless : depths[&entry];
  return order;
}

Effects::Effects(const std::vector<const Computation*>& callees_first, const CustomCalls* custom_calls)
    : custom_calls_(custom_calls) {
  for (const Computation* computation : callees_first) {
    const auto instructions = computation->instructions();
    if (std::any_of(instructions.begin(), instructions.end(), [&](const Instruction* i) { return Has(*i); }))
      computations_.insert(computation);
  }
}

bool Effects::Has(const Instruction& instruction) const {
  if (Info(instruction.opcode()).has(kSideEffect)) return true;
  if (Info(instruction.opcode()).has(kCollective) && spmd::DependsOnDevices(instruction) &&
      spmd::HasSeveralDevices(*instruction.parent()->module()))
    return true;
  if (instruction.Get<attr::custom_call_has_side_effect>()) return true;
  const Computation* supplied = SuppliedComputation(instruction, custom_calls_);
  if (supplied != nullptr && computations_.contains(supplied)) return true;
  const auto called = instruction.called_computations();
  return std::any_of(called.begin(), called.end(),
                     [&](const Computation* c) { return computations_.contains(c); });
}

std::vector<const Instruction*> LiveInstructions(const Computation& computation, const Effects& effects) {
  const std::vector<bool> live = FindLive(computation, effects);
  const bool is_scheduled = computation.module()->header().is_scheduled;
  std::vector<Instruction*> order;
  if (is_scheduled)
    order.assign(computation.instructions().begin(), computation.instructions().end());
  else
    order = PostOrder(computation);
  std::vector<const Instruction*> result;
  for (const Instruction* instruction : order) {
    if (live[instruction->index()]) result.push_back(instruction);
  }
  if (!is_scheduled && std::any_of(result.begin(), result.end(), IsReceive)) return ReceivesLast(result);
  return result;
}

Program MakeProgram(const Computation& computation, const Effects& effects) {
  Program program{&computation, {}, {}};
  for (const Instruction* instruction : LiveInstructions(computation, effects)) {
    program.steps.push_back({instruction, Reference(instruction->opcode()),
                             static_cast<int32_t>(instruction->index()),
                             static_cast<int32_t>(program.uses.size()),
                             static_cast<int32_t>(instruction->operand_count()), false});
    for (const Instruction* operand : instruction->operands())
      program.uses.push_back({static_cast<int32_t>(operand->index()), false});
    program.max_operands = std::max(program.max_operands, program.steps.back().use_count);
  }
  LastUses later(computation);
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    const bool is_element = step->instruction->opcode() == Opcode::kGetTupleElement;
    for (int32_t i = step->use_count - 1; i >= 0; --i) {
      Use& use = program.uses[step->first_use + i];
      if (is_element)
        step->takes_element = later.TakeElement(use.slot, step->instruction->Get<attr::index>());
      else
        later.UseWhole(use.slot);
      use.last = later.Take(use.slot);
    }
  }
  return program;
}

Programs::Programs(const std::vector<const Computation*>& callees_first, const CustomCalls* custom_calls) {
  const Effects effects(callees_first, custom_calls);
  for (const Computation* computation : callees_first)
    programs_.emplace(computation, std::make_unique<const Program>(MakeProgram(*computation, effects)));
}

}  // namespace hlo::reference
