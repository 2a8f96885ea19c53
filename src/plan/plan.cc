#include "plan/plan.h"

#include "base/status.h"
#include "plan/buffers.h"
#include "plan/groups.h"
#include "plan/merges.h"
#include "plan/steps.h"

namespace hlo::plan {

absl::StatusOr<Plan> MakePlan(const CheckedModule& module) {
  Plan plan;
  HLO_ASSIGN_OR_RETURN(plan.graph, Flatten(module));
  const Uses uses(plan.graph);
  const Groups groups(plan.graph, uses);
  const Merges merges(plan.graph, uses, groups);
  plan.steps = MakeSteps(plan.graph, groups, merges, *plan.graph.entry);
  AssignBuffers(plan);
  return plan;
}

}  // namespace hlo::plan
