#pragma once
// Finds the instructions that produce the NaNs and infinities of a run, and their paths to its results.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "debug/exposed_run.h"
#include "hlo_run/execute.h"
#include "nlohmann/json_fwd.hpp"

namespace hlo::debug {

enum class SpecialKind : uint8_t { kNan, kInf };

// An origin: the execution of an instruction that produces a NaN or an infinity from operand elements without
// one.
struct Origin {
  SpecialKind kind = SpecialKind::kNan;
  const Instruction* instruction = nullptr;
  int64_t leaf = 0;
  std::vector<int64_t> index;
  std::string value;
  std::vector<std::string> operands;  // `%a = 0` for each operand element that the element is computed from.
  std::vector<RunningLoop> loops;     // Outermost first.
  std::vector<const Instruction*> callers;  // The call chain from the entry to the computation.
  int64_t count = 0;                        // The number of NaNs or infinities in this result.
  int64_t later_executions = 0;             // The number of later executions that produced more.
  std::vector<const Instruction*>
      path;             // The path from the origin to a result, or to the last instruction reached.
  int64_t result = -1;  // The leaf of the module's result that it reaches; -1 if none.
  // The origins of the infinities from which this NaN is computed.
  std::vector<const Instruction*> causes;
};

// A NaN or infinity in an argument or a constant.
struct GivenSpecial {
  SpecialKind kind = SpecialKind::kNan;
  const Instruction* instruction = nullptr;
  int64_t leaf = 0;
  std::vector<int64_t> index;
  int64_t result = -1;  // The leaf of the result that it reaches; -1 if none.
  std::vector<const Instruction*> path;
};

// NaNs or infinities in a leaf of the module's result.
struct SpecialResult {
  SpecialKind kind = SpecialKind::kNan;
  int64_t leaf = 0;
  std::vector<int64_t> index;  // The index of the first one.
  int64_t count = 0;
};

struct OriginReport {
  std::vector<Origin> origins;  // In order of execution.
  std::vector<GivenSpecial> given;
  std::vector<SpecialResult> results;
  double watched_seconds = 0;  // The time of the fastest observed run.
};

struct OriginOptions {
  bool nans = true, infinities = false;
  int64_t repeat = 1;  // The number of observed runs, for watched_seconds.
};

// Runs the module with its normal plan and checks every array that the steps write. If one contains a NaN or
// an infinity, runs the module again with every instruction as a step, to find the origins. An infinity of a
// constant or an argument is not an origin.
absl::StatusOr<OriginReport> FindOrigins(const CheckedModule& module, const WatchedArguments& arguments,
                                         Engine engine, const EvaluateOptions& options,
                                         const OriginOptions& origins);

std::string ToString(const OriginReport& report, const Module& module);
nlohmann::ordered_json ToJson(const OriginReport& report);

// Checks the arrays that steps write, and stops the run at the first NaN or infinity. Values that the fast
// engine computes in bytecode are checked only when larger steps compute with them, or in results.
class SpecialDetector : public Observer {
 public:
  explicit SpecialDetector(const OriginOptions& options) : options_(options) {}
  bool needs_inner_steps() const override { return false; }
  bool needs_loops() const override { return false; }
  absl::Status AfterStep(const StepView& step) override;
  bool found() const { return found_; }

 private:
  OriginOptions options_;
  bool found_ = false;
};

// Does the same, and passes all steps on to another observer.
class WatchedSpecialDetector : public Observer {
 public:
  WatchedSpecialDetector(const OriginOptions& options, Observer& other) : detector_(options), other_(other) {}
  bool needs_inner_steps() const override { return false; }
  absl::Status BeforeStep(const StepView& step) override { return other_.BeforeStep(step); }
  absl::Status AfterStep(const StepView& step) override {
    HLO_RETURN_IF_ERROR(detector_.AfterStep(step));
    return other_.AfterStep(step);
  }
  void Finish(const absl::Status& outcome) override { other_.Finish(outcome); }
  bool found() const { return detector_.found(); }

 private:
  SpecialDetector detector_;
  Observer& other_;
};

}  // namespace hlo::debug
