#include "hlo_run/run.h"

#include <utility>

#include "base/counted.h"
#include "base/deadline.h"
#include "base/status.h"
#include "fmt/format.h"
#include "reference/arguments.h"
#include "reference/evaluator.h"
#include "reference/program.h"
#include "reference/supported.h"

namespace hlo {
absl::Status CheckArguments(const Computation& entry, absl::Span<const Literal> arguments) {
  const auto parameters = entry.parameters();
  if (arguments.size() != parameters.size()) {
    return absl::FailedPreconditionError(fmt::format("computation '{}' has {}, but the run has {}",
                                                     entry.name(), Counted(parameters.size(), "parameter"),
                                                     Counted(arguments.size(), "argument")));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!Compatible(arguments[i].shape(), parameters[i]->shape())) {
      return absl::FailedPreconditionError(
          fmt::format("parameter {} ('{}') is {}, but its argument is {}", i, parameters[i]->name(),
                      ToString(parameters[i]->shape()), ToString(arguments[i].shape())));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSupported(const CheckedModule& module, const EvaluateOptions& options) {
  int64_t depth = 0;
  return reference::CheckSupported(
      reference::CalledFrom(*module.module().entry(), &depth, options.custom_calls), options);
}

absl::StatusOr<Literal> Evaluate(const CheckedModule& module, std::vector<Literal> arguments,
                                 const EvaluateOptions& options) {
  const Computation& entry = *module.module().entry();
  int64_t depth = 0;
  const std::vector<const Computation*> computations =
      reference::CalledFrom(entry, &depth, options.custom_calls);
  HLO_RETURN_IF_ERROR(reference::CheckSupported(computations, options));
  HLO_RETURN_IF_ERROR(reference::CheckPeers(computations, options));
  HLO_RETURN_IF_ERROR(reference::CheckSupplies(computations, options));
  if (depth == reference::kEndless) {
    return absl::FailedPreconditionError("modules that compute custom calls call each other in a circle");
  }
  if (depth > options.max_call_depth) {
    return absl::ResourceExhaustedError(
        fmt::format("calls nest {} deep; the limit is {}", depth, options.max_call_depth));
  }
  HLO_RETURN_IF_ERROR(CheckArguments(entry, arguments));
  const Deadline deadline(options.max_seconds, options.cancel);
  reference::Evaluator evaluator(computations, options);
  absl::StatusOr<Literal> result = evaluator.Call(entry, absl::MakeSpan(arguments));
  if (options.observer != nullptr) options.observer->Finish(result.status());
  return result;
}

}  // namespace hlo
