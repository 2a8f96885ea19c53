#pragma once
// A module as one graph of array values.

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/custom_calls.h"
#include "plan/graph.h"

namespace hlo::plan {

// Rewrites that are done while the graph is made.
struct FlattenOptions {
  bool expand_library_calls = true;
  bool rewrite_degenerate_contractions = true;
  bool expand_scaled_dots = true;
};

// `custom_calls`: the caller's own. Unimplemented where the graph has no form for the module (calls that
// would unfold beyond measure): the reference runs such modules.
absl::StatusOr<Graph> Flatten(const CheckedModule& module, const CustomCalls* custom_calls,
                              const FlattenOptions& options = {});

}  // namespace hlo::plan
