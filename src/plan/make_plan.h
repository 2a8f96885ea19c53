#pragma once
// Makes the plan of a module.

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/custom_calls.h"
#include "hlo_run/plan_options.h"
#include "plan/pass.h"
#include "plan/plan.h"

namespace hlo::plan {

// Returns Unimplemented if the reference must run the module (see Flatten), InvalidArgument if the options
// name an unknown or required pass, and Internal if the validator refuses the plan.
absl::StatusOr<Plan> MakePlan(const CheckedModule& module, const CustomCalls* custom_calls = nullptr,
                              Target target = Target::kCpu, const PlanOptions& options = {});

// Returns the plan with all passes that `options` enables or, if `validate` refuses it and the options allow
// that, the plan without optional passes, with the error in Plan::refusal.
absl::StatusOr<Plan> MakeValidatedPlan(const CheckedModule& module, const CustomCalls* custom_calls,
                                       Target target, const PlanOptions& options,
                                       absl::FunctionRef<absl::Status(const Plan&)> validate);

}  // namespace hlo::plan
