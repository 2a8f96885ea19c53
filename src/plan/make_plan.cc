#include "plan/make_plan.h"

#include <utility>

#include "base/status.h"
#include "plan/pass.h"
#include "plan/passes.h"
#include "plan/validate/bytecode_verifier.h"
#include "plan/validate/plan_validator.h"

namespace hlo::plan {

namespace {

absl::StatusOr<Plan> MakePlanByPasses(const CheckedModule& module, const CustomCalls* custom_calls,
                                      Target target, const PlanOptions& options, const PassSet& passes) {
  PlanState state{module, custom_calls, target, options, passes};
  HLO_RETURN_IF_ERROR(RunPasses(Passes(), state));
  state.plan.change_count = state.changes.count();
  state.plan.last_change = state.changes.Last();
  return std::move(state.plan);
}

PassSet RequiredPasses() {
  PassSet passes;
  for (const Pass& pass : Passes()) {
    if (!pass.is_required) passes.Remove(pass.id);
  }
  return passes;
}

}  // namespace

absl::StatusOr<Plan> MakeValidatedPlan(const CheckedModule& module, const CustomCalls* custom_calls,
                                       Target target, const PlanOptions& options,
                                       absl::FunctionRef<absl::Status(const Plan&)> validate) {
  HLO_ASSIGN_OR_RETURN(const PassSet passes, EnabledPasses(options));
  HLO_ASSIGN_OR_RETURN(Plan plan, MakePlanByPasses(module, custom_calls, target, options, passes));
  const absl::Status refusal = validate(plan);
  if (refusal.ok()) return plan;
  if (!options.replan_if_refused) return refusal;
  absl::StatusOr<Plan> cautious = MakePlanByPasses(module, custom_calls, target, options, RequiredPasses());
  if (!cautious.ok() || !validate(*cautious).ok()) return refusal;
  cautious->refusal = Message(refusal);
  return cautious;
}

absl::StatusOr<Plan> MakePlan(const CheckedModule& module, const CustomCalls* custom_calls, Target target,
                              const PlanOptions& options) {
  return MakeValidatedPlan(module, custom_calls, target, options, [&](const Plan& plan) -> absl::Status {
    if (!options.validate) return absl::OkStatus();
    HLO_RETURN_IF_ERROR(ValidatePlan(plan));
    return VerifyBytecode(plan);
  });
}

}  // namespace hlo::plan
