#include "debug/exposed_run.h"

#include <functional>
#include <utility>

#include "base/status.h"

namespace hlo::debug {

PlanOptions ExposingPlanOptions() {
  PlanOptions options;
  options.disabled_passes = {"degenerate_contractions",
                             "sequential_reduce",
                             "unroll_windows",
                             "sink_broadcasts",
                             "sink_slices",
                             "range_analysis",
                             "loop_state_dce",
                             "loop_fusion",
                             "sibling_fusion",
                             "contraction_folding",
                             "layout_assignment",
                             "row_tiling",
                             "kernel_result_dce",
                             "gemm_fusion",
                             "in_place_aliasing",
                             "bytecode"};
  return options;
}

absl::Status ArrayWatcher::AfterStep(const StepView& step) {
  for (const StepValue& write : step.Writes())
    HLO_RETURN_IF_ERROR(see_(write.instruction, write.leaf, write.value));
  return absl::OkStatus();
}

absl::StatusOr<Literal> RunWatched(Executable& executable, const WatchedArguments& arguments,
                                   const EvaluateOptions& options) {
  DevicesOptions devices = arguments.options;
  devices.observer = [&](int64_t device) { return device == arguments.device ? options.observer : nullptr; };
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> results,
                       executable.RunDevices(arguments.by_device, options, devices));
  return std::move(results[static_cast<size_t>(arguments.device)]);
}

absl::StatusOr<Literal> RunExposed(const CheckedModule& module, const WatchedArguments& arguments,
                                   Engine engine, const EvaluateOptions& options) {
  HLO_ASSIGN_OR_RETURN(Executable executable,
                       Executable::Make(module, engine, options, {}, ExposingPlanOptions()));
  return RunWatched(executable, arguments, options);
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
