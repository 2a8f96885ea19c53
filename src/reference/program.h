#pragma once
// The schedule of a computation: its live instructions in execution order, and the last use of each value.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "hlo_run/custom_calls.h"
#include "hlo_run/module.h"
#include "reference/op.h"

namespace hlo::reference {

struct Use {
  int32_t slot;
  bool last;  // True at the last use of the value, which may then be moved.
};

struct Step {
  const Instruction* instruction;
  ReferenceOp op;
  int32_t slot;  // The slot of the result, which is the instruction's index.
  int32_t first_use, use_count;
  // True for a get-tuple-element that is the last use of its tuple element, which may then be moved.
  bool takes_element;
};

struct Program {
  const Computation* computation;
  std::vector<Step> steps;
  std::vector<Use> uses;  // The operands of all steps in order.
  int32_t max_operands = 0;

  absl::Span<const Use> UsesOf(const Step& step) const {
    return absl::MakeSpan(uses).subspan(step.first_use, step.use_count);
  }
};

// Returns the reference function of an opcode.
ReferenceOp Reference(Opcode opcode);

// Returns the computation that the run's caller supplied for a custom call; nullptr for other instructions.
const Computation* SuppliedComputation(const Instruction& instruction, const CustomCalls* custom_calls);

// Returns the entry and all computations that a run can reach, callees before callers. Sets `depth` to the
// nesting depth of calls (1: none), or kEndless if supplied modules call each other recursively.
constexpr int64_t kEndless = -1;
std::vector<const Computation*> CalledFrom(const Computation& entry, int64_t* depth,
                                           const CustomCalls* custom_calls = nullptr);

// Finds computations that must run even if their result is unused (semantics 8.9). With several devices these
// include collectives, because other devices wait for them.
class Effects {
 public:
  explicit Effects(const std::vector<const Computation*>& callees_first,
                   const CustomCalls* custom_calls = nullptr);
  bool Has(const Instruction& instruction) const;

 private:
  const CustomCalls* custom_calls_;
  absl::flat_hash_set<const Computation*> computations_;
};

// Returns the instructions that the root or a side effect needs, each after its operands and control
// predecessors; in text order if the module is scheduled. Otherwise a recv-done follows all instructions that
// do not depend on it, so that a send on its channel has run.
std::vector<const Instruction*> LiveInstructions(const Computation& computation, const Effects& effects);

Program MakeProgram(const Computation& computation, const Effects& effects);

// The programs of all computations that a run can reach, which evaluators on several threads may share.
class Programs {
 public:
  explicit Programs(const std::vector<const Computation*>& callees_first,
                    const CustomCalls* custom_calls = nullptr);
  const Program& of(const Computation& computation) const { return *programs_.find(&computation)->second; }

 private:
  absl::flat_hash_map<const Computation*, std::unique_ptr<const Program>> programs_;
};

}  // namespace hlo::reference
