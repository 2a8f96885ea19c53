#pragma once
// Checks the passes that rewrite the graph: the reference evaluates the graph before and after each pass on
// random arguments, and the results must agree.

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "hlo_run/run.h"
#include "plan/pass.h"

namespace hlo::plan {

class PassChecker {
 public:
  // Both must outlive the checker.
  PassChecker(absl::Span<const Pass> passes, PlanState& state);
  ~PassChecker();

  // Call it after a pass. Returns Internal, with the pass (or its part), result and element, if the pass
  // changed a result; FailedPrecondition if the reference cannot evaluate the module on random arguments in
  // time.
  absl::Status After(const Pass& pass);

 private:
  absl::Status Begin();
  EvaluateOptions Options() const;
  absl::StatusOr<std::vector<Literal>> Evaluate(const Graph& graph);
  std::string Difference(const Pass& pass, const Graph& graph, const std::vector<Literal>& after) const;
  std::string_view GuiltyPart(const Pass& pass);

  absl::Span<const Pass> passes_;
  PlanState& state_;
  std::unique_ptr<Host> host_;
  std::optional<std::vector<Literal>> arguments_;  // The leaves of the arguments.
  std::vector<Literal> before_;                    // The results before the next pass.
};

}  // namespace hlo::plan
