#include "debug/dataflow.h"

#include <algorithm>

namespace hlo::debug {
namespace {

// True if each element of the result is an element of the first operand.
bool OnlyMoves(Opcode opcode) {
  const OpcodeInfo& info = Info(opcode);
  const bool is_movement = info.has(kMovesElements) && (info.has(kMovement) || info.has(kForwards));
  return (is_movement && opcode != Opcode::kGather) || opcode == Opcode::kCopyDone;
}

}  // namespace

std::vector<LeafId> Dataflow::Sources(const LeafId& leaf) const {
  const auto [instruction, number] = leaf;
  const Opcode opcode = instruction->opcode();
  if (OnlyMoves(opcode)) return {{instruction->operand(0), number}};
  std::vector<LeafId> sources = flow_.Sources(leaf);
  if (opcode != Opcode::kParameter || !sources.empty()) return sources;
  // The parameters of other computations correspond to operands, at least approximately.
  const int64_t operand = instruction->Get<attr::number>();
  for (const Instruction* caller : flow_.Callers(*instruction->parent())) {
    if (Info(caller->opcode()).has(kStructural)) continue;
    if (operand < caller->operand_count()) sources.emplace_back(caller->operand(operand), number);
  }
  return sources;
}

std::vector<const Instruction*> Dataflow::CallStack(const Computation& computation) const {
  std::vector<const Instruction*> stack;
  const Computation* at = &computation;
  while (true) {
    const std::vector<const Instruction*>& callers = flow_.Callers(*at);
    if (callers.empty() || stack.size() > 256) break;
    stack.push_back(callers.front());
    at = callers.front()->parent();
  }
  std::reverse(stack.begin(), stack.end());
  return stack;
}

absl::flat_hash_set<const Instruction*> Dataflow::Ancestors(const LeafId& leaf) const {
  absl::flat_hash_set<LeafId> seen;
  absl::flat_hash_set<const Instruction*> ancestors;
  std::vector<LeafId> work = {leaf};
  while (!work.empty()) {
    const LeafId at = work.back();
    work.pop_back();
    if (at.first == nullptr || !seen.insert(at).second) continue;
    ancestors.insert(at.first);
    const std::vector<LeafId> sources = Sources(at);
    work.insert(work.end(), sources.begin(), sources.end());
    if (!sources.empty()) continue;
    for (const Instruction* operand : at.first->operands()) {
      for (int64_t k = 0; k < operand->shape().LeafCount(); ++k) work.emplace_back(operand, k);
    }
  }
  return ancestors;
}

bool Dataflow::HasOneCallSite(const Computation& computation) const {
  const std::vector<const Instruction*>& callers = flow_.Callers(computation);
  if (callers.empty()) return true;
  return callers.size() == 1 && HasOneCallSite(*callers.front()->parent());
}

bool CanMakeSpecials(Opcode opcode) {
  const OpcodeInfo& info = Info(opcode);
  return !info.has(kMovesElements) && !info.has(kStructural) && !info.has(kKeepsFinite);
}

}  // namespace hlo::debug
