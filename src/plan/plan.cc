#include "plan/plan.h"

#include <utility>

#include "base/status.h"
#include "plan/passes.h"
#include "plan/validate.h"
#include "plan/verify_code.h"

namespace hlo::plan {

int64_t MemoryOf(const Plan& plan) {
  int64_t bytes = plan.arena_bytes + plan.kernel_bytes;
  for (const Buffer& buffer : plan.buffers)
    bytes += buffer.kind == Buffer::Kind::kOwn ? buffer.byte_count : 0;
  return bytes;
}

absl::StatusOr<Plan> MakePlan(const CheckedModule& module, const CustomCalls* custom_calls, Target target,
                              const PlanOptions& options) {
  HLO_ASSIGN_OR_RETURN(const PassSet passes, EnabledPasses(options));
  PlanState state{module, custom_calls, target, options, passes};
  HLO_RETURN_IF_ERROR(RunPasses(Passes(), state));
  if (options.validate) HLO_RETURN_IF_ERROR(ValidatePlan(state.plan));
  if (options.validate) HLO_RETURN_IF_ERROR(VerifyPlanCode(state.plan));
  return std::move(state.plan);
}

}  // namespace hlo::plan
