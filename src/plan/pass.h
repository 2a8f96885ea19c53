#pragma once
// A pass of the planner, and the state that passes work on.

#include <bitset>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "hlo_run/check.h"
#include "hlo_run/custom_calls.h"
#include "hlo_run/plan_options.h"
#include "plan/change_counter.h"
#include "plan/plan.h"

namespace hlo::plan {

enum class PassId : uint8_t {
  kFlatten,
  kLibraryCalls,
  kDegenerateContractions,
  kSequentialReduce,
  kUnrollWindows,
  kSinkBroadcasts,
  kScaledDot,
  kBatchNorm,
  kSinkSlices,
  kRangeAnalysis,
  kLoopStateDce,
  kCommonSubexpressions,
  kContractionFolding,
  kLayoutAssignment,
  kMakeSteps,
  kLoopFusion,
  kSiblingFusion,
  kKernelResultDce,
  kRowTiling,
  kRowTilingCse,
  kGemmFusion,
  kSchedule,
  kBufferAssignment,
  kInPlaceAliasing,
  kBytecode,
  kLoadCse,
  kMoveElimination,
  kNativeCode,
};
inline constexpr size_t kPassCount = static_cast<size_t>(PassId::kNativeCode) + 1;

// On a GPU, steps use whole arrays: optimisations for caches and for few elements do not apply.
enum class Target : uint8_t { kCpu, kGpu };

struct PlanState;

struct Pass {
  enum class Stage : uint8_t { kGraph, kSteps, kMemory, kBytecode };
  PassId id;
  std::string_view name;
  Stage stage;
  std::string_view summary;
  // The invariant that the pass preserves, which the plan validator or --check-passes checks.
  std::string_view preserves;
  // The pass of which this one is a part; empty if `run` runs it.
  std::string_view part_of = {};
  absl::Status (*run)(PlanState& state) = nullptr;
  bool is_required = false;
  bool only_cpu = false;
  bool is_exact = true;  // For graph passes: results keep every bit.
};

// The set of enabled passes.
class PassSet {
 public:
  PassSet() { enabled_.set(); }
  bool Contains(PassId id) const { return enabled_[static_cast<size_t>(id)]; }
  void Remove(PassId id) { enabled_.reset(static_cast<size_t>(id)); }

 private:
  std::bitset<kPassCount> enabled_;
};

// The module and the plan that the passes work on.
struct PlanState {
  const CheckedModule& module;
  const CustomCalls* custom_calls = nullptr;
  Target target = Target::kCpu;
  const PlanOptions& options;
  PassSet passes;
  Plan plan = {};
  ChangeCounter changes = ChangeCounter(options.pass_limit);
};

}  // namespace hlo::plan
