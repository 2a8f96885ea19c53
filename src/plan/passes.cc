#include "plan/passes.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hlo_run/diagnostic.h"
#include "plan/analysis/uses.h"
#include "plan/bytecode/compiler.h"
#include "plan/fusion/gemm_fusion.h"
#include "plan/fusion/loop_fusion.h"
#include "plan/fusion/row_tiling.h"
#include "plan/fusion/sibling_fusion.h"
#include "plan/lower/make_steps.h"
#include "plan/memory/buffer_assignment.h"
#include "plan/memory/kernel_memory.h"
#include "plan/memory/schedule.h"
#include "plan/pass.h"
#include "plan/rewrite/common_subexpressions.h"
#include "plan/rewrite/contraction_folding.h"
#include "plan/rewrite/flatten.h"
#include "plan/rewrite/layout_assignment.h"
#include "plan/rewrite/loop_state_dce.h"
#include "plan/rewrite/range_analysis.h"
#include "plan/rewrite/sink_slices.h"
#include "plan/validate/pass_checker.h"

namespace hlo::plan {
namespace {

absl::Status RunFlatten(PlanState& state) {
  const FlattenOptions options = {
      .expand_library_calls = state.passes.Contains(PassId::kLibraryCalls),
      .for_gpu = state.target == Target::kGpu,
      .rewrite_degenerate_contractions = state.passes.Contains(PassId::kDegenerateContractions),
      .rewrite_narrow_reductions =
          state.passes.Contains(PassId::kDegenerateContractions) && state.target == Target::kCpu,
      .rewrite_sequential_reductions =
          state.passes.Contains(PassId::kSequentialReduce) && state.target == Target::kCpu,
      .unroll_windows = state.passes.Contains(PassId::kUnrollWindows) && state.target == Target::kCpu,
      .sink_broadcasts = state.passes.Contains(PassId::kSinkBroadcasts) && state.target == Target::kCpu,
      .expand_scaled_dots = state.passes.Contains(PassId::kScaledDot),
      .expand_batch_norms = state.passes.Contains(PassId::kBatchNorm)};
  HLO_ASSIGN_OR_RETURN(state.plan.graph, Flatten(state.module, state.custom_calls, options, state.changes));
  return absl::OkStatus();
}
absl::Status RunSinkSlices(PlanState& state) {
  SinkSlices(state.plan.graph, state.changes);
  return absl::OkStatus();
}
absl::Status RunRangeAnalysis(PlanState& state) {
  FoldByRange(state.plan.graph, state.changes);
  return absl::OkStatus();
}
absl::Status RunLoopStateDce(PlanState& state) {
  EliminateDeadLoopState(state.plan.graph, state.changes);
  return absl::OkStatus();
}
absl::Status RunCommonSubexpressions(PlanState& state) {
  // On a GPU, computing elements again costs less than launching another kernel for them.
  EliminateCommonSubexpressions(state.plan.graph, state.target == Target::kCpu, state.changes);
  return absl::OkStatus();
}
absl::Status RunContractionFolding(PlanState& state) {
  FoldIntoContractions(state.module.module(), state.plan.graph, state.target == Target::kCpu, state.changes);
  return absl::OkStatus();
}
absl::Status RunLayoutAssignment(PlanState& state) {
  AssignLayouts(state.module.module(), state.plan.graph, state.changes);
  return absl::OkStatus();
}
absl::Status RunMakeSteps(PlanState& state) {
  Graph& graph = state.plan.graph;
  const Uses uses(graph);
  const LoopFusion fusion(graph, uses, state.passes.Contains(PassId::kLoopFusion), state.changes);
  const SiblingFusion siblings(graph, uses, fusion, state.passes.Contains(PassId::kSiblingFusion),
                               state.changes);
  state.plan.steps = MakeSteps(graph, fusion, siblings, *graph.entry);
  if (state.target == Target::kCpu && state.passes.Contains(PassId::kKernelResultDce))
    EliminateDeadKernelResults(fusion, state.plan.steps, state.changes);
  return absl::OkStatus();
}
absl::Status RunRowTiling(PlanState& state) {
  TileRows(state.plan, state.passes.Contains(PassId::kRowTilingCse), state.changes);
  return absl::OkStatus();
}
absl::Status RunGemmFusion(PlanState& state) {
  FuseGemms(state.plan, state.options.min_fused_product_bytes, state.changes);
  return absl::OkStatus();
}
absl::Status RunSchedule(PlanState& state) {
  ScheduleForMemory(state.plan, state.changes);
  return absl::OkStatus();
}
absl::Status RunBufferAssignment(PlanState& state) {
  AssignBuffers(state.plan, state.passes.Contains(PassId::kInPlaceAliasing), state.changes);
  if (state.target == Target::kCpu) state.plan.kernel_bytes = KernelMemory(state.plan.steps);
  return absl::OkStatus();
}
absl::Status RunBytecode(PlanState& state) {
  if (!state.changes.Allow("bytecode")) return absl::OkStatus();
  CompileToBytecode(state.plan,
                    {.load_cse = state.passes.Contains(PassId::kLoadCse),
                     .move_elimination = state.passes.Contains(PassId::kMoveElimination)},
                    state.changes);
  return absl::OkStatus();
}

absl::Status RunNativeCode(PlanState& state) {
  state.plan.native_code = state.changes.Allow("native_code");
  return absl::OkStatus();
}

using Stage = Pass::Stage;
constexpr std::array<Pass, kPassCount> kPasses = {{
    {.id = PassId::kFlatten,
     .name = "flatten",
     .stage = Stage::kGraph,
     .summary = "Inlines calls and fusions and splits tuples into arrays",
     .preserves = "every result, up to rounding of library calls and scaled dots",
     .run = &RunFlatten,
     .is_required = true,
     .is_exact = false},
    {.id = PassId::kLibraryCalls,
     .name = "library_calls",
     .stage = Stage::kGraph,
     .summary = "Expands custom calls into instructions",
     .preserves = "the call's result, up to rounding",
     .part_of = "flatten"},
    {.id = PassId::kDegenerateContractions,
     .name = "degenerate_contractions",
     .stage = Stage::kGraph,
     .summary = "Rewrites reductions and dots over a few elements to loops, and reductions of windows and "
                "transposed convolutions whose windows do not overlap to simple reductions and dots",
     .preserves = "every bit, but sums of dots, of convolutions, of rows and of short columns up to rounding",
     .part_of = "flatten"},
    {.id = PassId::kSequentialReduce,
     .name = "sequential_reduce",
     .stage = Stage::kGraph,
     .summary = "Rewrites reductions to a few elements, whose combiner is not associative, to counted loops",
     .preserves = "every bit",
     .part_of = "flatten"},
    {.id = PassId::kUnrollWindows,
     .name = "unroll_windows",
     .stage = Stage::kGraph,
     .summary = "Rewrites reductions of small windows and small convolutions to loops over shifted operands",
     .preserves = "every bit, but sums of convolutions up to rounding",
     .part_of = "flatten",
     .only_cpu = true},
    {.id = PassId::kSinkBroadcasts,
     .name = "sink_broadcasts",
     .stage = Stage::kGraph,
     .summary = "Performs elementwise operations on broadcast scalars once",
     .preserves = "every bit",
     .part_of = "flatten",
     .only_cpu = true},
    {.id = PassId::kScaledDot,
     .name = "scaled_dot",
     .stage = Stage::kGraph,
     .summary = "Expands a scaled-dot into scales and a dot",
     .preserves = "the result, up to rounding",
     .part_of = "flatten"},
    {.id = PassId::kBatchNorm,
     .name = "batch_norm",
     .stage = Stage::kGraph,
     .summary = "Expands batch normalisations into elementwise operations and reductions",
     .preserves = "the results, up to rounding; sums, means and variances are f64",
     .part_of = "flatten"},
    {.id = PassId::kSinkSlices,
     .name = "sink_slices",
     .stage = Stage::kGraph,
     .summary = "Sinks slices of a conditional's result into its branches",
     .preserves = "every bit; the whole result is computed only if it has other users",
     .run = &RunSinkSlices},
    {.id = PassId::kRangeAnalysis,
     .name = "range_analysis",
     .stage = Stage::kGraph,
     .summary = "Folds selects and operations whose results follow from the ranges of integers",
     .preserves = "every bit",
     .run = &RunRangeAnalysis},
    {.id = PassId::kLoopStateDce,
     .name = "loop_state_dce",
     .stage = Stage::kGraph,
     .summary = "Removes dead loop-carried values, dead results of conditionals, and loops without results",
     .preserves = "every bit; the trip counts of loops with results",
     .run = &RunLoopStateDce},
    {.id = PassId::kCommonSubexpressions,
     .name = "common_subexpressions",
     .stage = Stage::kGraph,
     .summary = "Replaces instructions by earlier ones that compute the same value",
     .preserves = "every bit",
     .run = &RunCommonSubexpressions},
    {.id = PassId::kContractionFolding,
     .name = "contraction_folding",
     .stage = Stage::kGraph,
     .summary = "Folds widening conversions into dots and convolutions, and transposes into dots",
     .preserves = "the result, up to the order of sums",
     .run = &RunContractionFolding,
     .is_exact = false},
    {.id = PassId::kLayoutAssignment,
     .name = "layout_assignment",
     .stage = Stage::kGraph,
     .summary = "Stores short last dimensions of intermediate arrays as the major ones",
     .preserves = "every element; the results, up to the order of sums",
     .run = &RunLayoutAssignment,
     .only_cpu = true},
    {.id = PassId::kMakeSteps,
     .name = "make_steps",
     .stage = Stage::kSteps,
     .summary = "Selects a kernel for every node",
     .preserves = "the value of every node, which a step computes from the node's operands",
     .run = &RunMakeSteps,
     .is_required = true},
    {.id = PassId::kLoopFusion,
     .name = "loop_fusion",
     .stage = Stage::kSteps,
     .summary = "Fuses elementwise and data movement instructions into the loops that use them",
     .preserves = "every bit; fused nodes have no side effects and no other users",
     .part_of = "make_steps"},
    {.id = PassId::kSiblingFusion,
     .name = "sibling_fusion",
     .stage = Stage::kSteps,
     .summary = "Fuses loops over the same iteration space that share operands or results",
     .preserves = "every bit; the order of writers and readers",
     .part_of = "make_steps"},
    {.id = PassId::kKernelResultDce,
     .name = "kernel_result_dce",
     .stage = Stage::kSteps,
     .summary = "Removes unused results of kernels; lets kernels overwrite operands",
     .preserves = "every result that is read",
     .part_of = "make_steps",
     .only_cpu = true},
    {.id = PassId::kRowTiling,
     .name = "row_tiling",
     .stage = Stage::kSteps,
     .summary = "Fuses reductions along rows with loops over the same rows, in blocks of rows",
     .preserves = "results, up to the order of sums; values with other users are stored",
     .run = &RunRowTiling,
     .only_cpu = true},
    {.id = PassId::kRowTilingCse,
     .name = "row_tiling_cse",
     .stage = Stage::kSteps,
     .summary = "Eliminates common subexpressions between the parts of a row-tiled step",
     .preserves = "every bit",
     .part_of = "row_tiling",
     .only_cpu = true},
    {.id = PassId::kGemmFusion,
     .name = "gemm_fusion",
     .stage = Stage::kSteps,
     .summary = "Fuses loops into the prologues and the epilogue of dots and convolutions",
     .preserves = "every bit; the product is stored if it has other users",
     .run = &RunGemmFusion,
     .only_cpu = true},
    {.id = PassId::kSchedule,
     .name = "schedule",
     .stage = Stage::kSteps,
     .summary = "Moves steps that free memory to the earliest point at which their operands are ready",
     .preserves = "every dependence; the order of side effects",
     .run = &RunSchedule},
    {.id = PassId::kBufferAssignment,
     .name = "buffer_assignment",
     .stage = Stage::kMemory,
     .summary = "Assigns every value to a buffer from liveness",
     .preserves = "separate memory for values whose live ranges overlap",
     .run = &RunBufferAssignment,
     .is_required = true},
    {.id = PassId::kInPlaceAliasing,
     .name = "in_place_aliasing",
     .stage = Stage::kMemory,
     .summary = "Lets results and loop-carried values reuse the memory of operands that die",
     .preserves = "every live value",
     .part_of = "buffer_assignment"},
    {.id = PassId::kBytecode,
     .name = "bytecode",
     .stage = Stage::kBytecode,
     .summary = "Compiles control flow and steps on few elements to bytecode",
     .preserves = "every bit; the order of steps",
     .run = &RunBytecode,
     .only_cpu = true},
    {.id = PassId::kLoadCse,
     .name = "load_cse",
     .stage = Stage::kBytecode,
     .summary = "Removes loads and address computations whose value is already in the frame",
     .preserves = "every bit",
     .part_of = "bytecode",
     .only_cpu = true},
    {.id = PassId::kMoveElimination,
     .name = "move_elimination",
     .stage = Stage::kBytecode,
     .summary = "Computes loop-carried values directly in the buffer that the next iteration reads",
     .preserves = "every bit; the values of the current iteration until their last use",
     .part_of = "bytecode",
     .only_cpu = true},
    {.id = PassId::kNativeCode,
     .name = "native_code",
     .stage = Stage::kBytecode,
     .summary = "Lets executors compile bytecode and tile programs to machine code",
     .preserves = "every bit",
     .run = &RunNativeCode,
     .only_cpu = true},
}};
static_assert(
    [] {
      for (size_t k = 0; k < kPassCount; ++k)
        if (static_cast<size_t>(kPasses[k].id) != k) return false;
      return true;
    }(),
    "rows are in the order of PassId");

std::string_view Name(Stage stage) {
  switch (stage) {
    case Stage::kGraph:
      return "graph";
    case Stage::kSteps:
      return "steps";
    case Stage::kMemory:
      return "memory";
    case Stage::kBytecode:
      return "bytecode";
  }
  return "";
}

}  // namespace

absl::Span<const Pass> Passes() { return kPasses; }

absl::StatusOr<PassSet> EnabledPasses(const PlanOptions& options) {
  PassSet passes;
  for (const std::string& given : options.disabled_passes) {
    const std::string name = absl::StrReplaceAll(given, {{"-", "_"}});
    const auto pass =
        std::find_if(kPasses.begin(), kPasses.end(), [&](const Pass& each) { return each.name == name; });
    if (pass == kPasses.end()) {
      std::vector<std::string_view> names;
      for (const Pass& each : kPasses) {
        if (!each.is_required) names.push_back(each.name);
      }
      const std::string_view close = ClosestName(name, names);
      return absl::InvalidArgumentError(
          close.empty() ? fmt::format("no pass '{}'; the passes are: {}", given, fmt::join(names, ", "))
                        : fmt::format("no pass '{}'; did you mean '{}'?", given, close));
    }
    if (pass->is_required)
      return absl::InvalidArgumentError(fmt::format("the pass '{}' cannot be disabled", name));
    passes.Remove(pass->id);
  }
  return passes;
}

std::string PassesText() {
  std::string text = fmt::format("{:<25} {:<9} {}\n", "pass", "stage", "what it does; what it preserves");
  for (const Pass& pass : kPasses) {
    text += fmt::format("{:<25} {:<9} {}{}\n{:<35} preserves: {}\n",
                        pass.part_of.empty() ? std::string(pass.name) : fmt::format("  {}", pass.name),
                        Name(pass.stage), pass.summary,
                        pass.is_required ? " (required)"
                        : pass.only_cpu  ? " (CPU)"
                                         : "",
                        "", pass.preserves);
  }
  return text;
}

absl::Status RunPasses(absl::Span<const Pass> passes, PlanState& state) {
  PassChecker checker(passes, state);
  for (const Pass& pass : passes) {
    const bool is_on = pass.run != nullptr && (pass.is_required || state.passes.Contains(pass.id));
    if (!is_on || (pass.only_cpu && state.target != Target::kCpu)) continue;
    HLO_RETURN_IF_ERROR(pass.run(state));
    if (state.options.check_passes) HLO_RETURN_IF_ERROR(checker.After(pass));
  }
  return absl::OkStatus();
}

}  // namespace hlo::plan
