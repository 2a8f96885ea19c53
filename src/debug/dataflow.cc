#include "debug/dataflow.h"

#include <algorithm>

namespace hlo::debug {
namespace {

// Returns the leaf of a tuple's operand.
LeafId ElementOfTuple(const Instruction& tuple, int64_t leaf) {
  for (const Instruction* operand : tuple.operands()) {
    const int64_t count = operand->shape().LeafCount();
    if (leaf < count) return {operand, leaf};
    leaf -= count;
  }
  return {nullptr, 0};
}

LeafId SourceOfElement(const Instruction& element, int64_t leaf) {
  const Instruction* tuple = element.operand(0);
  for (int64_t k = 0; k < element.Get<attr::index>(); ++k) leaf += tuple->shape().element(k).LeafCount();
  return {tuple, leaf};
}

bool OnlyMoves(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBitcast:
    case Opcode::kBroadcast:
    case Opcode::kCopy:
    case Opcode::kDomain:
    case Opcode::kOptBarrier:
    case Opcode::kReshape:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kTranspose:
    case Opcode::kDynamicSlice:
    case Opcode::kAddDependency:
    case Opcode::kCopyDone:
      return true;
    default:
      return false;
  }
}

}  // namespace

Dataflow::Dataflow(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      for (const Computation* callee : instruction->called_computations())
        callers_[callee].push_back(instruction);
    }
  }
}

std::vector<LeafId> Dataflow::ArgumentsOf(const Instruction& parameter, int64_t leaf) const {
  std::vector<LeafId> sources;
  const auto found = callers_.find(parameter.parent());
  if (found == callers_.end()) return sources;
  const int64_t number = parameter.Get<attr::number>();
  for (const Instruction* caller : found->second) {
    if (caller->opcode() == Opcode::kWhile) {
      sources.push_back({caller->operand(0), leaf});
      sources.push_back({caller->Get<attr::body>()->root(), leaf});
    } else if (caller->opcode() == Opcode::kConditional) {
      const auto branches = caller->called_computations();
      const auto branch = std::find(branches.begin(), branches.end(), parameter.parent()) - branches.begin();
      if (branch + 1 < caller->operand_count()) sources.push_back({caller->operand(branch + 1), leaf});
    } else if (number < caller->operand_count()) {
      sources.push_back({caller->operand(number), leaf});
    }
  }
  return sources;
}

std::vector<LeafId> Dataflow::Sources(const LeafId& leaf) const {
  const auto [instruction, number] = leaf;
  switch (instruction->opcode()) {
    case Opcode::kParameter:
      return ArgumentsOf(*instruction, number);
    case Opcode::kTuple:
      return {ElementOfTuple(*instruction, number)};
    case Opcode::kGetTupleElement:
      return {SourceOfElement(*instruction, number)};
    case Opcode::kWhile:
      return {{instruction->Get<attr::body>()->root(), number}, {instruction->operand(0), number}};
    case Opcode::kCall:
    case Opcode::kFusion:
      return {{instruction->called_computations()[0]->root(), number}};
    case Opcode::kConditional: {
      std::vector<LeafId> sources;
      for (const Computation* branch : instruction->called_computations())
        sources.push_back({branch->root(), number});
      return sources;
    }
    default:
      if (OnlyMoves(instruction->opcode())) return {{instruction->operand(0), number}};
      return {};
  }
}

std::vector<const Instruction*> Dataflow::CallStack(const Computation& computation) const {
  std::vector<const Instruction*> stack;
  const Computation* at = &computation;
  while (true) {
    const auto found = callers_.find(at);
    if (found == callers_.end() || stack.size() > 256) break;
    stack.push_back(found->second.front());
    at = found->second.front()->parent();
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
  const auto found = callers_.find(&computation);
  if (found == callers_.end()) return true;
  return found->second.size() == 1 && HasOneCallSite(*found->second.front()->parent());
}

bool CanMakeSpecials(Opcode opcode) {
  switch (opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kIota:
    case Opcode::kSelect:
    case Opcode::kConcatenate:
    case Opcode::kPad:
    case Opcode::kGather:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kCompare:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kClamp:
    case Opcode::kAbs:
    case Opcode::kNegate:
    case Opcode::kSign:
    case Opcode::kSort:
    case Opcode::kTopk:
    case Opcode::kWhile:
    case Opcode::kCall:
    case Opcode::kFusion:
    case Opcode::kConditional:
      return false;
    default:
      return !OnlyMoves(opcode);
  }
}

}  // namespace hlo::debug
