#pragma once
// How is a computation walked? Which of its instructions run, in which order, and who uses a value last.

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlo_run/custom_calls.h"
#include "hlo_run/module.h"
#include "reference/op.h"

namespace hlo::reference {

struct Use {
  int32_t slot;
  bool last;  // No later step needs the value: it may be taken.
};

struct Step {
  const Instruction* instruction;
  ReferenceOp op;
  int32_t slot;  // Of the result: the instruction's index.
  int32_t first_use, use_count;
  // A get-tuple-element after which nobody needs that element of its tuple: it may be taken out.
  bool takes_element;
};

struct Program {
  const Computation* computation;
  std::vector<Step> steps;
  std::vector<Use> uses;  // Of all steps, their operands in order.
  int32_t max_operands = 0;
};

// The reference function of an opcode.
ReferenceOp Reference(Opcode opcode);

// The computation that the run's caller supplies for a custom call; nullptr for anything else.
const Computation* SuppliedComputation(const Instruction& instruction, const CustomCalls* custom_calls);

// The entry and everything that a run can reach from it, callees before callers; `depth` receives how deep
// calls nest (1: none), kEndless where supplied modules call each other in a circle.
constexpr int64_t kEndless = -1;
std::vector<const Computation*> CalledFrom(const Computation& entry, int64_t* depth,
                                           const CustomCalls* custom_calls = nullptr);

// Computations that must run even if nobody uses their result (semantics 8.9).
class Effects {
 public:
  explicit Effects(const std::vector<const Computation*>& callees_first,
                   const CustomCalls* custom_calls = nullptr);
  bool Has(const Instruction& instruction) const;

 private:
  const CustomCalls* custom_calls_;
  absl::flat_hash_set<const Computation*> computations_;
};

// Those instructions that the root or an effect needs, each after its operands and control predecessors; in
// the order of the text where the module is scheduled. Elsewhere a recv-done comes after everything that can
// do without it, so that a send of its channel has run.
std::vector<const Instruction*> LiveInstructions(const Computation& computation, const Effects& effects);

Program MakeProgram(const Computation& computation, const Effects& effects);

}  // namespace hlo::reference
