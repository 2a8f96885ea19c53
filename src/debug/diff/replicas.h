#pragma once
// Finds where devices that should hold equal values begin to differ.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "debug/dataflow.h"
#include "hlo_run/execute.h"
#include "nlohmann/json_fwd.hpp"

namespace hlo::debug {

struct AgreementOptions {
  Engine engine = Engine::kFast;
  EvaluateOptions evaluate;
  DevicesOptions devices;
  // Groups of devices that must hold equal values, for each leaf of the result.
  std::vector<std::vector<std::vector<int64_t>>> groups;
};

// A leaf of the result that two devices hold differently.
struct Disagreement {
  int64_t leaf = 0;
  int64_t device = 0, other = 0;
  std::vector<int64_t> index;  // The first element that differs.
  std::string value, other_value;
  int64_t count = 0;  // Elements that differ.
  // The instructions that differ, from the one in which the difference begins to the one that is the result.
  std::vector<const Instruction*> path;
  // The last instruction on the path at which a shared value becomes different: one of its operands depends
  // on an argument and is equal on both devices. Null if there is none.
  const Instruction* diverges_at = nullptr;
  std::vector<bool> agrees;                     // For each operand of `diverges_at`.
  std::vector<const Instruction*> collectives;  // Those on the path.
  bool is_given = false;                        // True if the path begins with an argument that differs.
};

// Runs the module on all devices and compares their results bit by bit. Values within computations that run
// several times differ if those of one execution do.
absl::StatusOr<std::vector<Disagreement>> FindDisagreements(
    const CheckedModule& module, const std::vector<std::vector<Literal>>& arguments,
    const AgreementOptions& options);

// `names` are those of the devices.
std::string ToText(const std::vector<Disagreement>& disagreements, const std::vector<std::string>& names,
                   const Module& module);
nlohmann::ordered_json ToJson(const std::vector<Disagreement>& disagreements,
                              const std::vector<std::string>& names);

}  // namespace hlo::debug
