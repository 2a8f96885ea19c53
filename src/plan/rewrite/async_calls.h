#pragma once
// The arguments and results of the asynchronous calls of a graph. A start or an update may bind only some of
// the arguments, and may declare the result as `()` until it is done.

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
  using Leaves = std::vector<ValueId>;
  using Run = absl::FunctionRef<absl::StatusOr<Leaves>(const Computation&, const std::vector<Leaves>&)>;
  using MakeZeros = absl::FunctionRef<absl::StatusOr<ValueId>(const Shape&)>;

  // Returns the leaves of async-start or async-update, in the order of the declared shape
  // ((arguments...), result, contexts...). Runs the computation as soon as it has all of its arguments.
  // Unimplemented if a handle that lacks something comes through a tuple or a loop.
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
  // By the last start or update of the chain, in its latest inlined copy: the links of a chain that is
  // followed here stand in one computation.
  absl::flat_hash_map<const Instruction*, Call> calls_;
};

}  // namespace hlo::plan
