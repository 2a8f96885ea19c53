#include "plan/make_plan.h"

#include <utility>

#include "base/status.h"
#include "plan/pass.h"
#include "plan/passes.h"
#include "plan/validate/bytecode_verifier.h"
#include "plan/validate/plan_validator.h"

namespace hlo::plan {

absl::StatusOr<Plan> MakePlan(const CheckedModule& module, const CustomCalls* custom_calls, Target target,
                              const PlanOptions& options) {
  HLO_ASSIGN_OR_RETURN(const PassSet passes, EnabledPasses(options));
  PlanState state{module, custom_calls, target, options, passes};
  HLO_RETURN_IF_ERROR(RunPasses(Passes(), state));
  state.plan.change_count = state.changes.count();
  state.plan.last_change = state.changes.Last();
  if (options.validate) HLO_RETURN_IF_ERROR(ValidatePlan(state.plan));
  if (options.validate) HLO_RETURN_IF_ERROR(VerifyPlanCode(state.plan));
  return std::move(state.plan);
}

}  // namespace hlo::plan
