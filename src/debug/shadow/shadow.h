#pragma once
// Shadow evaluation: evaluates a module in its declared precision and in a wider one, with an error bound for
// every value.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "debug/shadow/shadow_value.h"
#include "hlo_run/check.h"
#include "hlo_run/execute.h"
#include "hlo_run/observer.h"
#include "hlo_run/run.h"
#include "nlohmann/json_fwd.hpp"

namespace hlo::debug {

// The errors of an instruction in ULPs of its type, the largest over all elements and executions. The ULP of
// an element is the larger one of those of its declared and its wide value. If the bound of the element
// exceeds its value, the ULP is at least that of the root mean square of the array.
struct InstructionError {
  const Instruction* instruction = nullptr;
  int64_t executions = 0;
  double total = 0;                // The error of the declared value.
  double inherited = 0;            // The part of the error that propagates from the operands.
  double added = 0;                // The part of the error from the instruction's own rounding.
  double bound = 0;                // The error bound for any legal evaluation.
  std::vector<int64_t> index;      // The element with the largest total.
  double bound_there = 0;          // The bound of that element.
  std::vector<RunningLoop> loops;  // The enclosing loops in that execution.
  std::string operands;            // The operands of that element.
  // The largest relative bound of a result, and the factor by which the instruction has raised it.
  double condition = 0, relative_bound = 0;
  std::vector<int64_t> condition_index;
  bool is_anchored = false;   // The wide value restarts from the declared one.
  bool is_estimated = false;  // The bound is an estimate.
};

// A comparison, index, conversion to integers or loop condition whose outcome differs in the wide precision,
// or a choice that may differ in a legal evaluation.
struct ShadowDecision {
  const Instruction* instruction = nullptr;
  std::vector<int64_t> index;
  std::string declared, operands;
  std::vector<RunningLoop> loops;
  int64_t count = 0;        // The number of such elements over all executions.
  bool is_control = false;  // It chooses a branch or ends a loop, and may differ.
  bool is_index = false;    // The instruction moves elements by an index that may differ.
};

struct ShadowReport {
  ShadowValue result;
  std::vector<InstructionError> errors;  // In order of first execution.
  std::vector<ShadowDecision> decisions;
  // True if a comparison, an order, an index or a branch may have another outcome in a legal evaluation. The
  // trials of the result are then meaningless.
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

// Control flow follows the values in the declared precision. `hook` is called after each instruction. If the
// evaluation fails, `partial`, which may be null, has the errors so far, without a result.
absl::StatusOr<ShadowReport> RunShadow(const CheckedModule& module, const std::vector<Literal>& arguments,
                                       const EvaluateOptions& options, const ShadowHook& hook = {},
                                       ShadowReport* partial = nullptr);

// The same for all devices of a run, by device. Collectives exchange wide values, bounds and trials like the
// declared values. Threads of the devices call `hook`. If the evaluation fails, `partial`, which may be null,
// has the errors of each device so far.
using DeviceShadowHook = std::function<absl::Status(int64_t device, const ShadowStep&)>;
absl::StatusOr<std::vector<ShadowReport>> RunShadowOnDevices(
    const CheckedModule& module, const std::vector<std::vector<Literal>>& arguments,
    const EvaluateOptions& options, const DevicesOptions& devices, const DeviceShadowHook& hook = {},
    std::vector<ShadowReport>* partial = nullptr);

// Return the instructions with the largest added error, total error and amplification, in decreasing order.
std::vector<const InstructionError*> WorstByAddedError(const ShadowReport& report, size_t count);
std::vector<const InstructionError*> WorstByTotalError(const ShadowReport& report, size_t count);
std::vector<const InstructionError*> WorstConditions(const ShadowReport& report, size_t count);

std::string ToString(const ShadowReport& report);
nlohmann::ordered_json ToJson(const ShadowReport& report);

}  // namespace hlo::debug
