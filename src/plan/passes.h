#pragma once
// The passes of the planner, in the order in which they run.

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/plan_options.h"
#include "plan/plan.h"

namespace hlo::plan {

enum class PassId : uint8_t {
  kFlatten,
  kLibraryCalls,
  kDegenerateContractions,
  kScaledDot,
  kSinkSlices,
  kRangeAnalysis,
  kLoopStateDce,
  kTransposeFolding,
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
};
inline constexpr size_t kPassCount = static_cast<size_t>(PassId::kMoveElimination) + 1;

struct PlanState;

struct Pass {
  enum class Stage : uint8_t { kGraph, kSteps, kMemory, kBytecode };
  PassId id;
  std::string_view name;
  Stage stage;
  std::string_view summary;
  // The invariant that the pass preserves, which the validator of plans or --check-passes checks.
  std::string_view keeps;
  // The pass that this one is a part of, which consults PassSet; null where `run` runs the pass.
  std::string_view part_of = {};
  absl::Status (*run)(PlanState& state) = nullptr;
  bool is_required = false;
  bool only_cpu = false;
  bool is_exact = true;  // Of graph passes: results keep every bit.
};

// The table, in the order of PassId; a pass comes before its parts, and those before the next pass.
absl::Span<const Pass> Passes();

// A set of passes that are enabled.
class PassSet {
 public:
  PassSet() { enabled_.set(); }
  bool Contains(PassId id) const { return enabled_[static_cast<size_t>(id)]; }
  void Remove(PassId id) { enabled_.reset(static_cast<size_t>(id)); }

 private:
  std::bitset<kPassCount> enabled_;
};

// InvalidArgument where a name is not a pass's, or the pass is required.
absl::StatusOr<PassSet> EnabledPasses(const PlanOptions& options);

// A table of all passes, for users.
std::string PassesText();

// The module and the plan that the passes work on.
struct PlanState {
  const CheckedModule& module;
  const CustomCalls* custom_calls = nullptr;
  Target target = Target::kCpu;
  const PlanOptions& options;
  PassSet passes;
  Plan plan = {};
};

// Runs the passes of a table in order; with PlanOptions::check_passes, PassChecker looks at each.
absl::Status RunPasses(absl::Span<const Pass> passes, PlanState& state);

}  // namespace hlo::plan
