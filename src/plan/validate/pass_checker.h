#pragma once
// Checks the passes that rewrite the graph: the reference evaluates the graph before and after each of them
// on random arguments, and the results must agree.

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
  // Both stay where they are.
  PassChecker(absl::Span<const Pass> passes, PlanState& state);
  ~PassChecker();

  // Once the pass has run. Internal, naming the pass (or the part of it), result and element, where that
  // changed a result. FailedPrecondition: the reference cannot evaluate
  // the module on random arguments, or not in time.
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
  std::optional<std::vector<Literal>> arguments_;  // Leaves.
  std::vector<Literal> before_;                    // The results so far.
};

}  // namespace hlo::plan
