#pragma once
/// \file
/// Options of the fast engine's planner. They change how a module runs; results stay within the tolerance
/// between the engines.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace hlo {

/// Options of the planner.
struct PlanOptions {
  /// Names of passes to skip; `hlo-run plan --passes` lists them. A hyphen matches an underscore.
  std::vector<std::string> disabled_passes;
  /// The number of changes after which all optional passes stop, to bisect a wrong result. A change is one
  /// application of a rewrite: a node that is fused, a buffer that is updated in place, and so on.
  std::optional<int64_t> pass_limit;
  /// Validates the plan before it runs.
  bool validate = true;
  /// If the validator refuses the plan, which is a bug of the planner, makes one without the optional passes
  /// (Executable::plan_refusal) instead of returning the error.
  bool replan_if_refused = false;
  /// Evaluates the graph with the reference before and after each rewrite pass on random arguments, and fails
  /// with the name of the pass that changed a result. This is slow and tests the planner, not the module.
  bool check_passes = false;
  /// The smallest result, in bytes, of a dot or convolution that is fused with adjacent loops.
  int64_t min_fused_product_bytes = 4 << 20;
};

}  // namespace hlo
#pragma GCC visibility pop
