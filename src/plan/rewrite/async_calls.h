#pragma once
// Tracks the asynchronous calls of a graph. A start or an update may bind only some of the arguments, and may
// declare the result as `()` until the call is done.

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "hlo_run/module.h"
#include "plan/graph.h"

namespace hlo::plan {

class AsyncCalls {
 public:
  using Run = absl::FunctionRef<absl::StatusOr<Leaves>(const Computation&, const std::vector<Leaves>&)>;
  using MakeZeros = absl::FunctionRef<absl::StatusOr<ValueId>(const Shape&)>;

  // Returns the leaves of async-start or async-update, in the order of the declared shape ((arguments...),
  // result, contexts...). Inlines the computation once all of its arguments are bound. Returns Unimplemented
  // if an incomplete handle is passed through a tuple or a loop.
  absl::StatusOr<Leaves> Advance(const Instruction& link, const std::vector<Leaves>& operands, Run run,
                                 MakeZeros zeros);
  // Returns the leaves of an async-done whose operand does not declare the result.
  absl::StatusOr<Leaves> Result(const Instruction& done) const;

 private:
  struct Call {
    const Computation* computation = nullptr;
    std::vector<Leaves> arguments;
    std::optional<Leaves> result;
  };
  // Keyed by the last start or update of the chain in its latest inlined copy: the links of a chain are in
  // one computation.
  absl::flat_hash_map<const Instruction*, Call> calls_;
};

}  // namespace hlo::plan
