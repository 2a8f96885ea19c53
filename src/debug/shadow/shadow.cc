#include "debug/shadow/shadow.h"

#include <algorithm>
#include <utility>

#include "base/activity.h"
#include "base/deadline.h"
#include "base/status.h"
#include "debug/shadow/device_run.h"
#include "debug/shadow/shadow_evaluator.h"
#include "debug/shadow/shadow_trials.h"
#include "reference/arguments.h"
#include "reference/supported.h"

namespace hlo::debug {
namespace {

std::vector<const InstructionError*> Sorted(const ShadowReport& report, size_t count,
                                            double (*key)(const InstructionError&)) {
  std::vector<const InstructionError*> sorted;
  for (const InstructionError& error : report.errors) {
    if (key(error) > 0) sorted.push_back(&error);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const InstructionError* a, const InstructionError* b) { return key(*a) > key(*b); });
  if (sorted.size() > count) sorted.resize(count);
  return sorted;
}

// Returns the report of a device, without the bounds of trials. If the run fails, `partial` has what is known
// of the instructions before.
absl::StatusOr<ShadowReport> RunShadowOf(const CheckedModule& module, const WideModules& wide,
                                         const std::vector<Literal>& arguments,
                                         const EvaluateOptions& options, const ShadowHook& hook,
                                         ShadowReport* partial = nullptr) {
  const Deadline deadline(options.max_seconds, options.cancel);
  ShadowEvaluator evaluator(module.module(), wide, options, hook);
  ShadowReport report;
  absl::StatusOr<ShadowValue> result = evaluator.CallEntry(*module.module().entry(), arguments);
  const absl::Status status = result.status();
  if (status.ok()) {
    report.result = *std::move(result);
    HLO_RETURN_IF_ERROR(Materialize(report.result));
  }
  evaluator.log().MoveTo(report);
  if (status.ok()) return report;
  if (partial != nullptr) *partial = std::move(report);
  return status;
}

}  // namespace

absl::StatusOr<ShadowReport> RunShadow(const CheckedModule& module, const std::vector<Literal>& arguments,
                                       const EvaluateOptions& options, const ShadowHook& hook,
                                       ShadowReport* partial) {
  HLO_RETURN_IF_ERROR(CheckSupported(module, options));
  HLO_RETURN_IF_ERROR(reference::CheckSupplies(Reachable(module.module()), options));
  HLO_RETURN_IF_ERROR(CheckArguments(*module.module().entry(), arguments));
  HLO_ASSIGN_OR_RETURN(const WideModules wide, WideModules::Make(module.module()));
  HLO_ASSIGN_OR_RETURN(ShadowReport report, RunShadowOf(module, wide, arguments, options, hook, partial));
  if (!report.is_uncertain) HLO_RETURN_IF_ERROR(TightenByTrials(report.result));
  return report;
}

absl::StatusOr<std::vector<ShadowReport>> RunShadowOnDevices(
    const CheckedModule& module, const std::vector<std::vector<Literal>>& arguments,
    const EvaluateOptions& options, const DevicesOptions& devices, const DeviceShadowHook& hook,
    std::vector<ShadowReport>* partial) {
  std::vector<ShadowReport> unused;
  std::vector<ShadowReport>& known = partial != nullptr ? *partial : unused;
  known.resize(arguments.size());
  const auto hook_of = [&](int64_t device) -> ShadowHook {
    if (!hook) return {};
    return [&hook, device](const ShadowStep& step) { return hook(device, step); };
  };
  if (arguments.size() == 1) {
    HLO_ASSIGN_OR_RETURN(ShadowReport report,
                         RunShadow(module, arguments[0], options, hook_of(0), known.data()));
    return std::vector<ShadowReport>{std::move(report)};
  }
  HLO_RETURN_IF_ERROR(CheckSupported(module, options));
  HLO_RETURN_IF_ERROR(reference::CheckSupplies(Reachable(module.module()), options));
  for (const std::vector<Literal>& own : arguments)
    HLO_RETURN_IF_ERROR(CheckArguments(*module.module().entry(), own));
  HLO_ASSIGN_OR_RETURN(const WideModules wide, WideModules::Make(module.module()));
  std::vector<std::vector<const Computation*>> computations = {Reachable(module.module()),
                                                               Reachable(wide.wide->module())};
  if (wide.pairs != nullptr) computations.push_back(Reachable(wide.pairs->module()));
  HLO_ASSIGN_OR_RETURN(DeviceRunner runner, DeviceRunner::Make(module.module(), computations));
  std::vector<ShadowReport> reports(arguments.size());
  ActivityListener* const listener = CurrentActivityListener();
  HLO_RETURN_IF_ERROR(
      runner.Run(options, devices, [&](int64_t device, const EvaluateOptions& own) -> absl::Status {
        // All devices are about as far as the first one.
        const ActivityScope scope(device == 0 ? listener : nullptr);
        const auto number = static_cast<size_t>(device);
        HLO_ASSIGN_OR_RETURN(reports[number], RunShadowOf(module, wide, arguments[number], own,
                                                          hook_of(device), &known[number]));
        return absl::OkStatus();
      }));
  // Trials of one device depend on the choices of the others.
  const bool is_uncertain = std::any_of(reports.begin(), reports.end(),
                                        [](const ShadowReport& report) { return report.is_uncertain; });
  for (ShadowReport& report : reports) {
    report.is_uncertain = is_uncertain;
    if (!is_uncertain) HLO_RETURN_IF_ERROR(TightenByTrials(report.result));
  }
  return reports;
}

std::vector<const InstructionError*> WorstByAddedError(const ShadowReport& report, size_t count) {
  return Sorted(report, count, [](const InstructionError& error) { return error.added; });
}
std::vector<const InstructionError*> WorstByTotalError(const ShadowReport& report, size_t count) {
  return Sorted(report, count, [](const InstructionError& error) { return error.total; });
}
// Ill-conditioned: the relative error grows by more than 2^8.
std::vector<const InstructionError*> WorstConditions(const ShadowReport& report, size_t count) {
  constexpr double kIll = 256;
  return Sorted(report, count, [](const InstructionError& error) {
    return error.condition > kIll ? error.relative_bound : 0;
  });
}

}  // namespace hlo::debug
