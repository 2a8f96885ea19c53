#include "ir/leaf_flow.h"

namespace hlo {
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

}  // namespace

LeafId ForwardedLeaf(LeafId leaf) {
  for (;;) {
    if (leaf.first->opcode() == Opcode::kGetTupleElement)
      leaf = SourceOfElement(*leaf.first, leaf.second);
    else if (leaf.first->opcode() == Opcode::kTuple)
      leaf = ElementOfTuple(*leaf.first, leaf.second);
    else
      return leaf;
  }
}

LeafFlow::LeafFlow(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      for (const Computation* callee : instruction->called_computations())
        callers_[callee].push_back(instruction);
    }
  }
}

const std::vector<const Instruction*>& LeafFlow::Callers(const Computation& computation) const {
  static const std::vector<const Instruction*> kNoCallers;
  const auto found = callers_.find(&computation);
  return found == callers_.end() ? kNoCallers : found->second;
}

std::vector<LeafId> LeafFlow::ArgumentsOf(const Instruction& parameter, int64_t leaf) const {
  std::vector<LeafId> sources;
  const int64_t number = parameter.Get<attr::number>();
  for (const Instruction* caller : Callers(*parameter.parent())) {
    const Opcode opcode = caller->opcode();
    if (opcode == Opcode::kWhile) {
      sources.emplace_back(caller->operand(0), leaf);
      sources.emplace_back(caller->Get<attr::body>()->root(), leaf);
    } else if (opcode == Opcode::kConditional) {
      const auto branches = caller->called_computations();
      for (size_t branch = 0; branch < branches.size(); ++branch) {
        const auto operand = static_cast<int64_t>(branch) + 1;
        if (branches[branch] == parameter.parent() && operand < caller->operand_count())
          sources.emplace_back(caller->operand(operand), leaf);
      }
    } else if ((Info(opcode).has(kStructural) || opcode == Opcode::kMap) &&
               number < caller->operand_count()) {
      sources.emplace_back(caller->operand(number), leaf);
    }
  }
  return sources;
}

std::vector<LeafId> LeafFlow::Sources(const LeafId& leaf) const {
  const auto [instruction, number] = leaf;
  std::vector<LeafId> sources;
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
    case Opcode::kConditional:
      for (const Computation* callee : instruction->called_computations())
        sources.emplace_back(callee->root(), number);
      return sources;
    default:
      return sources;
  }
}

}  // namespace hlo
