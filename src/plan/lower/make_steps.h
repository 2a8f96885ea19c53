#pragma once
// Lowers the graph to steps: every node that is not fused into another one becomes a step. Slots are still
// value numbers, which AssignBuffers replaces.

#include "plan/fusion/loop_fusion.h"
#include "plan/fusion/sibling_fusion.h"
#include "plan/plan.h"

namespace hlo::plan {

// Returns the steps of a block, those of inner blocks included.
std::vector<Step> MakeSteps(Graph& graph, const LoopFusion& fusion, const SiblingFusion& siblings,
                            const Block& block);

// Drops unused results of kernels and marks results that may overwrite operands; both hold for CPU kernels
// only.
void EliminateDeadKernelResults(const LoopFusion& fusion, std::vector<Step>& steps, ChangeCounter& changes);

}  // namespace hlo::plan
