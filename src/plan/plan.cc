#include "plan/plan.h"

#include <algorithm>

#include "base/status.h"
#include "plan/branch_slices.h"
#include "plan/buffers.h"
#include "plan/dead_results.h"
#include "plan/fold_transposes.h"
#include "plan/groups.h"
#include "plan/index_ranges.h"
#include "plan/kernel_memory.h"
#include "plan/merges.h"
#include "plan/modes.h"
#include "plan/plan_code.h"
#include "plan/product_loops.h"
#include "plan/row_blocks.h"
#include "plan/schedule.h"
#include "plan/steps.h"

namespace hlo::plan {
namespace {
Modes modes;
}  // namespace

void SetModes(const Modes& next) { modes = next; }
const Modes& CurrentModes() { return modes; }

int64_t MemoryOf(const Plan& plan) {
  int64_t bytes = plan.arena_bytes + plan.kernel_bytes;
  for (const Buffer& buffer : plan.buffers)
    bytes += buffer.kind == Buffer::Kind::kOwn ? buffer.byte_count : 0;
  return bytes;
}

absl::StatusOr<Plan> MakePlan(const CheckedModule& module, const CustomCalls* custom_calls, Target target) {
  Plan plan;
  HLO_ASSIGN_OR_RETURN(plan.graph, Flatten(module, custom_calls));
  // A GPU's buffers are bytes alone.
  if (target == Target::kGpu && std::any_of(plan.graph.values.begin(), plan.graph.values.end(),
                                            [](const Value& value) { return value.is_dynamic; }))
    return absl::UnimplementedError("dynamic sizes");
  SliceInBranches(plan.graph);
  FoldSelections(plan.graph);
  DropDeadResults(plan.graph);
  if (CurrentModes().fuses) FoldTransposes(module.module(), plan.graph);
  const Uses uses(plan.graph);
  const Groups groups(plan.graph, uses);
  const Merges merges(plan.graph, uses, groups);
  plan.steps = MakeSteps(plan.graph, groups, merges, *plan.graph.entry);
  if (target == Target::kCpu) SaveMemory(groups, plan.steps);
  if (target == Target::kCpu && CurrentModes().fuses) {
    BlockRows(plan);
    JoinProductLoops(plan);
  }
  FreeEarly(plan);
  AssignBuffers(plan);
  if (target == Target::kCpu) {
    plan.kernel_bytes = KernelMemory(plan.steps);
    CompilePlan(plan);
  }
  return plan;
}

}  // namespace hlo::plan
