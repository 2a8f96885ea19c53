#pragma once
// Decides whether a smaller case still has the property that the user looks for.

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "debug/diff/diff.h"
#include "debug/extract/test_case.h"

namespace hlo::debug {

class CaseJudge {
 public:
  virtual ~CaseJudge() = default;
  // Returns OK if the case still has the property; otherwise why not, or why it cannot be judged. Called from
  // several threads.
  virtual absl::Status Judge(const TestCase& test) const = 0;
  bool Accepts(const TestCase& test) const { return Judge(test).ok(); }
  // Returns an error if the judge is a command that the shell cannot run.
  virtual absl::Status CheckRuns(const TestCase& /*test*/) const { return absl::OkStatus(); }
  // Returns the expected results of the accepted case, for the golden folder; nullopt if there are none.
  virtual std::optional<Literal> Expected(const TestCase& test) const;
  // True if the judge knows the expected values only for the original inputs. Then no instruction may change
  // its value.
  virtual bool needs_values() const { return false; }
  // Identifies the judge, to resume only with the same one.
  virtual std::string description() const = 0;
};

struct JudgeOptions {
  double max_seconds = 60;  // The time limit for one case.
  std::optional<CompareRule> rule;
  Engine engine = Engine::kFast;
  const std::atomic<bool>* cancel = nullptr;  // Once it is set, no case is accepted.
};
// The command accepts a case by exit status 0. `{}` and `{hlo}` are the module, `{inputs}` is an archive of
// its inputs.
absl::StatusOr<std::unique_ptr<CaseJudge>> MakeCommandJudge(const std::string& command,
                                                            const JudgeOptions& options);
// Accepts cases whose result has a NaN. If no input and no constant of the original case has a NaN, accepted
// cases have none there either, so they still contain the instruction that produces it.
std::unique_ptr<CaseJudge> MakeNanJudge(const TestCase& original, const JudgeOptions& options);
// Accepts cases with a result that differs from the recorded one. Keys are names of instructions or, for the
// original module's results, their positions.
absl::StatusOr<std::unique_ptr<CaseJudge>> MakeRecordedJudge(const std::string& archive,
                                                             const CheckedModule& original,
                                                             const JudgeOptions& options);
// Accepts cases for which the command writes other results to `{outputs}` than this program computes.
absl::StatusOr<std::unique_ptr<CaseJudge>> MakeAgainstJudge(const std::string& command,
                                                            const JudgeOptions& options);

}  // namespace hlo::debug
