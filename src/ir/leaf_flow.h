#pragma once
// Data flow through the tuples, calls, loops and conditionals of a module.

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hlo_run/module.h"

namespace hlo {

// A leaf of an instruction's result.
using LeafId = std::pair<const Instruction*, int64_t>;

// Follows a leaf through tuples and their elements, within one computation, to the instruction that
// computes it.
LeafId ForwardedLeaf(LeafId leaf);

class LeafFlow {
 public:
  explicit LeafFlow(const Module& module);

  // Returns the instructions that call the computation.
  const std::vector<const Instruction*>& Callers(const Computation& computation) const;

  // Returns the leaves that a structural instruction (kStructural) forwards to this one: the operand of a
  // tuple, the arguments of a parameter, the root of a fusion, and so on. Empty for other instructions, and
  // for parameters of computations that are applied to elements, except those of map.
  std::vector<LeafId> Sources(const LeafId& leaf) const;

 private:
  std::vector<LeafId> ArgumentsOf(const Instruction& parameter, int64_t leaf) const;

  absl::flat_hash_map<const Computation*, std::vector<const Instruction*>> callers_;
};

}  // namespace hlo
