#pragma once
// Finds where the NaNs and infinities of a run come from and how they reach its results.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "debug/exposed_run.h"
#include "hlo_run/execute.h"
#include "nlohmann/json_fwd.hpp"

namespace hlo::debug {

enum class SpecialKind : uint8_t { kNan, kInf };

// An instruction that made a NaN or an infinity of operands that hold none at the places it reads.
struct Birth {
  SpecialKind kind = SpecialKind::kNan;
  const Instruction* instruction = nullptr;
  int64_t leaf = 0;
  std::vector<int64_t> index;
  std::string value;
  std::vector<std::string> operands;        // `%a = 0` for each operand: what the element is computed from.
  std::vector<RunningLoop> loops;           // Outermost first.
  std::vector<const Instruction*> callers;  // From the entry to the computation.
  int64_t count = 0;                        // NaNs or infinities in this result.
  int64_t later_executions = 0;             // Later executions that made more.
  std::vector<const Instruction*> way;      // From the birth to a result, or to the last instruction reached.
  int64_t result = -1;                      // The leaf of the module's result; -1: it reaches none.
  // Births of infinities that this NaN is made of.
  std::vector<const Instruction*> causes;
};

// A NaN or infinity that a run was given: by an argument or a constant.
struct GivenSpecial {
  SpecialKind kind = SpecialKind::kNan;
  const Instruction* instruction = nullptr;
  int64_t leaf = 0;
  std::vector<int64_t> index;
  int64_t result = -1;  // The leaf of the result that it reaches; -1: none.
  std::vector<const Instruction*> way;
};

// NaNs or infinities in a leaf of the module's result.
struct SpecialResult {
  SpecialKind kind = SpecialKind::kNan;
  int64_t leaf = 0;
  std::vector<int64_t> index;  // Of the first.
  int64_t count = 0;
};

struct BirthReport {
  std::vector<Birth> births;  // In order of execution.
  std::vector<GivenSpecial> given;
  std::vector<SpecialResult> results;
  double watched_seconds = 0;  // Of the fastest watched run.
};

struct BirthOptions {
  bool nans = true, infinities = false;
  int64_t repeat = 1;  // Runs of the watch, for its time.
};

// Runs the module on the engine as it is planned, and looks at every array that the steps write. Only if one
// holds a NaN or infinity does it run again, with every instruction exposed, to find the births. An infinity
// counts as given if a constant or argument holds it.
absl::StatusOr<BirthReport> FindBirths(const CheckedModule& module, const WatchedArguments& arguments,
                                       Engine engine, const EvaluateOptions& options,
                                       const BirthOptions& births);

std::string ToString(const BirthReport& report, const Module& module);
nlohmann::ordered_json ToJson(const BirthReport& report);
// Prints `{1} at {0,3}`: a leaf of a result and an index.
std::string PlaceText(const Shape& shape, int64_t leaf, const std::vector<int64_t>& index);

// Looks at the arrays that steps write; the run stops as soon as one holds a NaN or an infinity. What the
// fast engine computes in bytecode shows only in what larger steps or the results make of it.
class SpecialDetector : public Observer {
 public:
  explicit SpecialDetector(const BirthOptions& options) : options_(options) {}
  bool needs_inner_steps() const override { return false; }
  absl::Status AfterStep(const StepView& step) override;
  bool found() const { return found_; }

 private:
  BirthOptions options_;
  bool found_ = false;
};

}  // namespace hlo::debug
