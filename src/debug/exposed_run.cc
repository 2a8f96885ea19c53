#include "debug/exposed_run.h"

#include <functional>
#include <utility>

#include "base/status.h"

namespace hlo::debug {

PlanOptions ExposingPlanOptions() {
  PlanOptions options;
  options.disabled_passes = {
      "degenerate_contractions", "sink_slices",       "range_analysis", "loop_state_dce",    "loop_fusion",
      "sibling_fusion",          "transpose_folding", "row_tiling",     "kernel_result_dce", "gemm_fusion",
      "in_place_aliasing",       "bytecode"};
  return options;
}

absl::StatusOr<Literal> RunExposed(const CheckedModule& module, std::vector<Literal> arguments, Engine engine,
                                   const EvaluateOptions& options) {
  return Execute(module, std::move(arguments), engine, options, {}, ExposingPlanOptions());
}

std::vector<Leaf> LeavesOf(const Literal& value) {
  std::vector<Leaf> leaves;
  int64_t leaf = 0;
  const std::function<void(const Literal&)> add = [&](const Literal& part) {
    if (part.shape().IsTuple()) {
      for (const Literal& element : part.elements()) add(element);
      return;
    }
    if (part.shape().IsArray()) leaves.push_back({leaf, &part});
    ++leaf;
  };
  add(value);
  return leaves;
}

}  // namespace hlo::debug
