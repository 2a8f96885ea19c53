#pragma once
// Evaluates computations on shadow values. Each instruction is evaluated in its declared types and in wide
// ones.

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/activity.h"
#include "debug/shadow/layer_link.h"
#include "debug/shadow/shadow_log.h"
#include "debug/shadow/shadow_trials.h"
#include "debug/shadow/wide_module.h"
#include "observe/work_estimate.h"
#include "reference/evaluator.h"
#include "reference/program.h"

namespace hlo::debug {

// The copies of a module with other types.
struct WideModules {
  static absl::StatusOr<WideModules> Make(const Module& module);

  std::unique_ptr<WideModule> wide;
  std::unique_ptr<WideModule> pairs;  // Null if no instruction applies a computation to f64 or c128.
};

// Returns the computations that a run may call.
std::vector<const Computation*> Reachable(const Module& module);

class ShadowEvaluator {
 public:
  ShadowEvaluator(const Module& module, const WideModules& wide, const EvaluateOptions& options,
                  const ShadowHook& hook);

  absl::StatusOr<ShadowValue> CallEntry(const Computation& entry, const std::vector<Literal>& arguments);
  ShadowLog& log() { return log_; }

 private:
  using ArgumentOf = absl::FunctionRef<absl::StatusOr<ShadowValue>(int64_t number)>;
  absl::StatusOr<ShadowValue> CallWith(const Computation& computation, ArgumentOf argument_of);
  absl::StatusOr<ShadowValue> Call(const Computation& computation, std::vector<ShadowValue> arguments);
  const reference::Program& ProgramOf(const Computation& computation);
  absl::Status Locate(const absl::Status& status, const Instruction& instruction);
  // Says several times a second which instruction is evaluated, and which part of the work is done.
  void ReportProgress(const Instruction& instruction);
  void EndStep(const Instruction& instruction);

  // Control flow, calls and collectives.
  absl::StatusOr<ShadowValue> Compute(const Instruction& instruction, std::vector<ShadowValue> operands);
  absl::StatusOr<ShadowValue> While(const Instruction& loop, ShadowValue state);
  absl::StatusOr<ShadowValue> Conditional(const Instruction& instruction, std::vector<ShadowValue> operands);
  absl::StatusOr<ShadowValue> StartAsync(const Instruction& instruction, std::vector<ShadowValue> bound,
                                         std::vector<ShadowValue> more);
  absl::StatusOr<ShadowValue> Exchange(const Instruction& instruction, std::vector<ShadowValue> operands);

  // Other instructions.
  absl::StatusOr<ShadowValue> Evaluate(const Instruction& instruction, std::vector<ShadowValue> operands);
  absl::StatusOr<ShadowValue> MoveExact(const Instruction& instruction, std::vector<ShadowValue> operands);
  absl::StatusOr<ShadowValue> EvaluateWide(const Instruction& instruction, std::vector<ShadowValue> operands);
  const Instruction* PairsOf(const Instruction& instruction) const;
  static bool UpdatesInPlace(const Instruction& instruction, const std::vector<ShadowValue>& operands);
  absl::StatusOr<ShadowValue> UpdateInPlace(const Instruction& instruction,
                                            std::vector<ShadowValue> operands);

  const WideModule& wide_module_;
  const WideModule* const pair_module_;  // Null if no instruction needs it.
  const ShadowHook& hook_;
  const std::unique_ptr<LayerLink> link_;  // Null in a run of one device.
  const EvaluateOptions options_;
  const std::vector<const Computation*> computations_, wide_computations_;
  const reference::Effects effects_;
  reference::Evaluator declared_caller_, wide_caller_;
  absl::flat_hash_map<const Computation*, std::unique_ptr<reference::Program>> programs_;
  std::vector<RunningLoop> loops_;
  ShadowLog log_{loops_};
  bool is_located_ = false;
  TrialSigns signs_;
  std::chrono::steady_clock::time_point reported_;
  const bool shows_progress_ = CurrentActivityListener() != nullptr;
  WorkEstimate work_;
  int64_t depth_ = 0;
};

}  // namespace hlo::debug
