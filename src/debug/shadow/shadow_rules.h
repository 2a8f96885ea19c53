#pragma once
// Computes wide values and error bounds of results, by one rule for each family of opcodes.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "debug/shadow/shadow_value.h"
#include "hlo_run/module.h"
#include "reference/op.h"

namespace hlo::debug {

// An element whose inherited bound is large relative to its value.
struct IllCondition {
  double condition = 0;  // The relative bound of the result divided by that of the operands.
  double relative = 0;   // The relative bound of the result.
  int64_t position = -1;
};

// An element of a comparison, index or conversion whose outcome differs in the wide precision.
struct Decision {
  int64_t count = 0;
  int64_t position = -1;  // The position of the first such element.
  int64_t leaf = 0;
};

// One execution of an instruction. The control flow has its own rules in shadow.cc.
struct RuleContext {
  const Instruction& instruction;
  const Instruction& wide;  // The same instruction on f64 and c128.
  // The same instruction on pairs (WideModule::MakePairs); null unless it applies computations to scalars.
  const Instruction* pairs;
  absl::Span<const ShadowValue> operands;
  const Literal& declared;  // The result in the declared precision.
  reference::Caller& declared_caller;
  reference::Caller& wide_caller;

  // f64: the error that the instruction may add by itself; invalid: none, or that of one rounding for
  // instructions that have no bound of their own.
  Literal own_error;
  std::vector<Literal> own_errors;  // Those of the leaves of a tuple; empty if there are none.
  bool has_trials = false;          // True if the rule has set the trials.
  // True if a comparison, an order or a conversion to integers may have another outcome in a legal
  // evaluation.
  bool is_uncertain = false;
  IllCondition ill_condition;
  Decision decision;
  int64_t uncertain_index = -1;  // The number of an index operand that may have another value.
  // True if the wide value restarts from the declared one, because the instruction has no wide form.
  bool is_anchored = false;
  // True if the bound is an estimate by perturbed operands.
  bool is_estimated = false;
};

// Returns the declared result with its wide value and bound.
absl::StatusOr<ShadowValue> ApplyRule(RuleContext& context);

// Returns the wide result for these wide operands.
absl::StatusOr<Literal> ApplyWide(const RuleContext& context, std::vector<Literal> operands);

// Sets the bound of elements that are special or may overflow; another evaluation must give the same special
// value.
void BoundSpecials(ShadowValue& leaf);

// True for instructions that only move values and add no error, such as scatters that overwrite.
bool MovesValues(const Instruction& instruction);

}  // namespace hlo::debug
