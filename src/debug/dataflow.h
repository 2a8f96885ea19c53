#pragma once
// Data flow through calls, loops and tuples of a module.

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlo_run/module.h"

namespace hlo::debug {

// A leaf of an instruction's result.
using LeafId = std::pair<const Instruction*, int64_t>;

class Dataflow {
 public:
  explicit Dataflow(const Module& module);

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
  std::vector<LeafId> ArgumentsOf(const Instruction& parameter, int64_t leaf) const;

  absl::flat_hash_map<const Computation*, std::vector<const Instruction*>> callers_;
};

// True if the opcode can produce a NaN or an infinity from finite operands, or a NaN from infinities; false
// for opcodes that only move values.
bool CanMakeSpecials(Opcode opcode);

}  // namespace hlo::debug
