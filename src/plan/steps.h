#pragma once
// From the graph to steps: every node that no loop of another one computes becomes a step of its own. Slots
// are value numbers still; assign_buffers.h turns them into buffers.

#include "plan/groups.h"
#include "plan/merges.h"
#include "plan/plan.h"

namespace hlo::plan {

// The steps of a block, inner blocks included.
std::vector<Step> MakeSteps(Graph& graph, const Groups& groups, const Merges& merges, const Block& block);

}  // namespace hlo::plan
