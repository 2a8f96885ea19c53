#include "ir/async.h"

#include <algorithm>

namespace hlo {
bool IsAnnotation(const Instruction& instruction) {
  constexpr std::string_view kTargets[] = {"Sharding",
                                           "LocalToGlobalShape",
                                           "GlobalToLocalShape",
                                           "xla.sdy.LocalToGlobalShape",
                                           "xla.sdy.GlobalToLocalShape",
                                           "xla.sdy.FuncResultSharding"};
  if (instruction.opcode() != Opcode::kCustomCall || instruction.operand_count() == 0) return false;
  const std::string_view target = instruction.Get<attr::custom_call_target>();
  return std::find(std::begin(kTargets), std::end(kTargets), target) != std::end(kTargets);
}

bool ForwardsAsync(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  return opcode == Opcode::kAsyncUpdate || opcode == Opcode::kOptBarrier || opcode == Opcode::kCopy ||
         opcode == Opcode::kWhile || IsAnnotation(instruction);
}

const Instruction* AsyncChains::LoopOf(const Computation* computation) {
  if (!has_loops_) {
    has_loops_ = true;
    for (const Computation* c : module_.computations()) {
      for (const Instruction* i : c->instructions()) {
        if (i->opcode() != Opcode::kWhile) continue;
        for (const Computation* called : i->called_computations()) loops_.emplace(called, i);
      }
    }
  }
  const auto it = loops_.find(computation);
  return it == loops_.end() ? nullptr : it->second;
}

const Instruction* AsyncChains::FindStart(const Instruction& link) {
  const auto known = starts_.find(&link);
  if (known != starts_.end()) return known->second;
  const Instruction* start = Walk(link);
  starts_.emplace(&link, start);
  return start;
}

const Instruction* AsyncChains::Walk(const Instruction& link) {
  std::vector<int64_t> path;  // The remaining tuple indices, the next one last.
  const Instruction* at = link.operand_count() > 0 ? link.operand(0) : nullptr;
  while (at != nullptr) {
    if (at->opcode() == Opcode::kAsyncStart) return path.empty() ? at : nullptr;
    if (at->opcode() == Opcode::kAsyncUpdate && path.empty()) {
      const auto known = starts_.find(at);
      if (known != starts_.end()) return known->second;
    }
    if (at->opcode() == Opcode::kParameter) {
      at = LoopOf(at->parent());
      if (at == nullptr) return nullptr;
    } else if (at->opcode() == Opcode::kGetTupleElement) {
      path.push_back(at->Get<attr::index>());
    } else if (at->opcode() == Opcode::kTuple) {
      if (path.empty() || path.back() < 0 || path.back() >= at->operand_count()) return nullptr;
      at = at->operand(path.back());
      path.pop_back();
      continue;
    } else if (!ForwardsAsync(*at)) {
      return nullptr;
    }
    at = at->operand_count() > 0 ? at->operand(0) : nullptr;
  }
  return nullptr;
}

bool SameSignature(const Computation& a, const Computation& b) {
  if (a.root() == nullptr || b.root() == nullptr) return false;
  return std::equal(
             a.parameters().begin(), a.parameters().end(), b.parameters().begin(), b.parameters().end(),
             [](const Instruction* x, const Instruction* y) { return Compatible(x->shape(), y->shape()); }) &&
         Compatible(a.root()->shape(), b.root()->shape());
}

const Instruction* WrappedInstruction(const Instruction& async_start) {
  const Computation* wrapped = async_start.Get<attr::calls>();
  return wrapped == nullptr ? nullptr : wrapped->root();
}

}  // namespace hlo
