#pragma once
// Makes the plan of a module.

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/custom_calls.h"
#include "hlo_run/plan_options.h"
#include "plan/pass.h"
#include "plan/plan.h"

namespace hlo::plan {

// Unimplemented where the reference has to run the module: see Flatten. InvalidArgument: the options name no
// pass, or one that is required.
absl::StatusOr<Plan> MakePlan(const CheckedModule& module, const CustomCalls* custom_calls = nullptr,
                              Target target = Target::kCpu, const PlanOptions& options = {});

}  // namespace hlo::plan
