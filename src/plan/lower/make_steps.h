#pragma once
// From the graph to steps: every node that no loop of another one computes becomes a step of its own. Slots
// are value numbers still; assign_buffers.h turns them into buffers.

#include "plan/fusion/loop_fusion.h"
#include "plan/fusion/sibling_fusion.h"
#include "plan/plan.h"

namespace hlo::plan {

// The steps of a block, inner blocks included.
std::vector<Step> MakeSteps(Graph& graph, const Groups& groups, const Merges& merges, const Block& block);

// Uses what the CPU's kernels allow beyond those of other devices: results that nothing needs are left out,
// and others may take the place of operands.
void SaveMemory(const Groups& groups, std::vector<Step>& steps);

}  // namespace hlo::plan
