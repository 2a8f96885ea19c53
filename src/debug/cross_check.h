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
  std::string fast, reference;        // The element on both engines.
  double error = 0, bound = 0;        // In ULPs of the type.
  int64_t count = 0;                  // Elements beyond the bound.
  std::vector<std::string> operands;  // What the element is computed from, on the reference.
};

struct CrossCheck {
  std::optional<StepDifference> first;  // In the order of the reference.
  int64_t steps = 0;                    // Arrays of the fast engine that were compared.
  int64_t left_out = 0;                 // Arrays beyond the limit of memory.
  Literal fast, reference;              // The results of both engines.
  // A smaller module that shows the difference by itself, with its arguments; empty if there is none.
  std::string part;
  std::vector<Literal> part_arguments;
  Literal part_result;  // The reference's.
};

struct CrossCheckOptions {
  PlanOptions plan;
  int64_t max_bytes = int64_t{1} << 30;  // Of the fast engine's values.
};

// Runs the module on the fast engine as it is planned, step by step, and beside it on the reference with a
// bound of the rounding error. Every array that a step of the fast engine writes is compared.
absl::StatusOr<CrossCheck> RunCrossCheck(const CheckedModule& module, const std::vector<Literal>& arguments,
                                         const EvaluateOptions& options, const CrossCheckOptions& check);

std::string ToString(const CrossCheck& check);
nlohmann::ordered_json ToJson(const CrossCheck& check);

// Writes a golden folder that shows the difference: module.hlo, inputs.npz, outputs.npz and case.json, whose
// rules allow each output the rounding of its type. It holds the part if there is one, and the module
// otherwise.
absl::Status WriteCase(const std::string& folder, const CheckedModule& module,
                       const std::vector<Literal>& arguments, const CrossCheck& check);

}  // namespace hlo::debug
