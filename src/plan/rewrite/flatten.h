#pragma once
// Flattens a module into one graph of array values.

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/custom_calls.h"
#include "plan/change_counter.h"
#include "plan/graph.h"

namespace hlo::plan {

// Rewrites that run while the graph is built.
struct FlattenOptions {
  bool expand_library_calls = true;
  bool for_gpu = false;  // Library calls for which only the CPU has kernels are expanded too.
  bool rewrite_degenerate_contractions = true;
  bool rewrite_narrow_reductions = true;
  bool rewrite_sequential_reductions = true;
  bool unroll_windows = true;
  bool sink_broadcasts = true;
  bool expand_scaled_dots = true;
  bool expand_batch_norms = true;
};

// `custom_calls` are the user's. Returns Unimplemented for modules that the graph cannot represent, for
// instance if inlining would produce too many nodes: the reference runs them.
absl::StatusOr<Graph> Flatten(const CheckedModule& module, const CustomCalls* custom_calls,
                              const FlattenOptions& options, ChangeCounter& changes);

}  // namespace hlo::plan
