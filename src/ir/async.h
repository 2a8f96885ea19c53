#pragma once
// Finds the async-start of an async-update or async-done (text-format 5.4).

#include "absl/container/flat_hash_map.h"
#include "hlo_run/module.h"

namespace hlo {

class AsyncChains {
 public:
  explicit AsyncChains(const Module& module) : module_(module) {}
  // Returns nullptr if the chain does not end in a start.
  const Instruction* FindStart(const Instruction& link);

 private:
  const Instruction* Walk(const Instruction& link);
  const Instruction* LoopOf(const Computation* computation);

  const Module& module_;
  bool has_loops_ = false;  // True once loops_ is filled.
  absl::flat_hash_map<const Computation*, const Instruction*> loops_;
  // Memoises the starts, since callers query every link of a chain.
  absl::flat_hash_map<const Instruction*, const Instruction*> starts_;
};

// True for custom calls that only annotate their operand.
bool IsAnnotation(const Instruction& instruction);

// True if chains of asynchronous instructions continue from the value to its first operand: updates,
// barriers, copies, loops and annotations.
bool ForwardsAsync(const Instruction& instruction);

// True if parameters and results of the two computations have compatible shapes.
bool SameSignature(const Computation& a, const Computation& b);

// Returns the instruction that an async-start runs: the root of the called computation.
const Instruction* WrappedInstruction(const Instruction& async_start);

}  // namespace hlo
