#pragma once
// Compares the fast engine with the reference step by step.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/execute.h"
#include "nlohmann/json_fwd.hpp"

namespace hlo::debug {

// A value of the fast engine that is farther from the wide value than rounding allows.
struct StepDifference {
  const Instruction* instruction = nullptr;
  int64_t leaf = 0;
  std::vector<RunningLoop> loops;
  std::string_view kernel;
  std::vector<int64_t> index;
  std::string fast, reference;        // The element as both engines compute it.
  double error = 0, bound = 0;        // Both in ULPs of the type.
  int64_t count = 0;                  // The number of elements beyond the bound.
  std::vector<std::string> operands;  // The elements that it is computed from, on the reference.
};

struct CrossCheck {
  std::optional<StepDifference> first;  // The first difference in the order of the reference.
  int64_t steps = 0;                    // The number of compared arrays of the fast engine.
  int64_t left_out = 0;                 // The number of arrays beyond the memory limit.
  Literal fast, reference;              // The results of both engines.
  // A smaller module that shows the difference by itself, with its arguments; empty if there is none.
  std::string part;
  std::vector<Literal> part_arguments;
  Literal part_result;  // The result of the part on the reference.
};

struct CrossCheckOptions {
  PlanOptions plan;
  int64_t max_bytes = int64_t{1} << 30;  // The limit of the size of the fast engine's values.
};

// Runs the module on the fast engine with its normal plan, and on the reference with a bound of the rounding
// error. Compares every array that a step of the fast engine writes.
absl::StatusOr<CrossCheck> RunCrossCheck(const CheckedModule& module, const std::vector<Literal>& arguments,
                                         const EvaluateOptions& options, const CrossCheckOptions& check);

std::string ToString(const CrossCheck& check);
nlohmann::ordered_json ToJson(const CrossCheck& check);

// Writes a golden folder that shows the difference: module.hlo, inputs.npz, outputs.npz and case.json, whose
// rules allow each output the rounding of its type. The folder contains the part if there is one, otherwise
// the module.
absl::Status WriteCase(const std::string& folder, const CheckedModule& module,
                       const std::vector<Literal>& arguments, const CrossCheck& check);

}  // namespace hlo::debug
