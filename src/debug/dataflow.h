#pragma once
// Data flow through calls, loops and tuples of a module.

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ir/leaf_flow.h"

namespace hlo::debug {

class Dataflow {
 public:
  explicit Dataflow(const Module& module) : flow_(module) {}

  // Returns the leaves that control flow, calls, tuples and copies forward to this one: the operand of a
  // tuple, the arguments of a parameter, the root of a fusion, and so on. Empty for other instructions.
  std::vector<LeafId> Sources(const LeafId& leaf) const;

  // Returns the call chain from the entry to the computation, through the first caller of each computation.
  std::vector<const Instruction*> CallStack(const Computation& computation) const;

  // Returns the instructions that a leaf may be computed from, itself included, with all branches of
  // conditionals.
  absl::flat_hash_set<const Instruction*> Ancestors(const LeafId& leaf) const;

  // True if the computation is called from one place only, and so are its callers.
  bool HasOneCallSite(const Computation& computation) const;

 private:
  LeafFlow flow_;
};

// True if the opcode can produce a NaN or an infinity from finite operands, or a NaN from infinities; false
// for opcodes that only move values.
bool CanMakeSpecials(Opcode opcode);

}  // namespace hlo::debug
