#pragma once
// Evaluates a module in its declared precision and in a wider one side by side, with a running bound of the
// error.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "debug/shadow_value.h"
#include "hlo_run/check.h"
#include "hlo_run/observer.h"
#include "hlo_run/run.h"
#include "nlohmann/json_fwd.hpp"

namespace hlo::debug {

// The errors of an instruction in ULPs of its type, the largest over all elements and executions.
struct InstructionError {
  const Instruction* instruction = nullptr;
  int64_t executions = 0;
  double total = 0;                // Of the declared value.
  double inherited = 0;            // What the errors of the operands make of it.
  double added = 0;                // By the instruction's own rounding.
  double bound = 0;                // The bound of any legal evaluation.
  std::vector<int64_t> index;      // Of the largest total.
  std::vector<RunningLoop> loops;  // In that execution.
  std::string operands;            // At that element.
  // The largest relative bound of a result, and by how much the instruction has raised it.
  double condition = 0, relative_bound = 0;
  std::vector<int64_t> condition_index;
  bool is_anchored = false;   // The wide value restarts from the declared one.
  bool is_estimated = false;  // The bound is an estimate.
};

// A comparison, index, conversion to integers or loop condition that the wide values decide otherwise.
struct ShadowDecision {
  const Instruction* instruction = nullptr;
  std::vector<int64_t> index;
  std::string declared, operands;
  std::vector<RunningLoop> loops;
  int64_t count = 0;        // Elements over all executions.
  bool is_control = false;  // It chooses a branch or ends a loop.
};

struct ShadowReport {
  ShadowValue result;
  std::vector<InstructionError> errors;  // In order of first execution.
  std::vector<ShadowDecision> decisions;
  // True if a legal evaluation may decide a comparison, an order, an index or a branch otherwise. The trials
  // of the result then tell nothing.
  bool is_uncertain = false;
};

// One execution of an instruction other than control flow, with its operands and its result.
struct ShadowStep {
  const Instruction& instruction;
  const std::vector<RunningLoop>& loops;
  absl::Span<const ShadowValue> operands;
  const ShadowValue& result;
};
using ShadowHook = std::function<absl::Status(const ShadowStep&)>;

// Control flow follows the declared precision. `hook` is called after each instruction.
absl::StatusOr<ShadowReport> RunShadow(const CheckedModule& module, const std::vector<Literal>& arguments,
                                       const EvaluateOptions& options, const ShadowHook& hook = {});

// The instructions that add the most, and those that amplify the most, in order.
std::vector<const InstructionError*> WorstByAddedError(const ShadowReport& report, size_t count);
std::vector<const InstructionError*> WorstByTotalError(const ShadowReport& report, size_t count);
std::vector<const InstructionError*> WorstConditions(const ShadowReport& report, size_t count);

std::string ToString(const ShadowReport& report);
nlohmann::ordered_json ToJson(const ShadowReport& report);

}  // namespace hlo::debug
