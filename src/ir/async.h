#pragma once
// Which async-start does an async-update or async-done belong to? (text-format 5.4)

#include "absl/container/flat_hash_map.h"
#include "hlo_run/module.h"

namespace hlo {

class AsyncChains {
 public:
  explicit AsyncChains(const Module& module) : module_(module) {}
  // nullptr where the chain does not lead to a start.
  const Instruction* FindStart(const Instruction& link);

 private:
  const Instruction* Walk(const Instruction& link);
  const Instruction* LoopOf(const Computation* computation);

  const Module& module_;
  bool has_loops_ = false;  // Whether loops_ is filled.
  absl::flat_hash_map<const Computation*, const Instruction*> loops_;
  // Chains are walked link by link, often the whole of them for each link.
  absl::flat_hash_map<const Instruction*, const Instruction*> starts_;
};

// Whether the two computations take and return values of compatible shapes.
bool SameSignature(const Computation& a, const Computation& b);

// The instruction that an async-start runs: the root of the computation that it calls.
const Instruction* WrappedInstruction(const Instruction& async_start);

}  // namespace hlo
