#pragma once
// Options of the fast engine's planner. They change how a module runs; what it computes stays within the
// contract between the engines.

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace hlo {

struct PlanOptions {
  // Passes that are skipped, by name; `hlo-run plan --passes` lists the names. A hyphen stands for an
  // underscore too.
  std::vector<std::string> disabled_passes;
  // Validates the finished plan before it runs.
  bool validate = true;
  // Evaluates the graph with the reference before and after each pass that rewrites it, on random arguments,
  // and fails with the name of the pass that changed a result. Slow: a test of the planner, not of the module.
  bool check_passes = false;
  // Products (dots and convolutions) whose result is smaller are not fused with the loops around them.
  int64_t least_fused_product_bytes = 4 << 20;
};

}  // namespace hlo
#pragma GCC visibility pop
