#pragma once
// Makes the plan of a module.

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/custom_calls.h"
#include "hlo_run/plan_options.h"
#include "plan/pass.h"
#include "plan/plan.h"

namespace hlo::plan {

// Returns Unimplemented if the reference must run the module (see Flatten), InvalidArgument if the options
// name an unknown or required pass.
absl::StatusOr<Plan> MakePlan(const CheckedModule& module, const CustomCalls* custom_calls = nullptr,
                              Target target = Target::kCpu, const PlanOptions& options = {});

}  // namespace hlo::plan
