#include "plan/visit.h"

namespace hlo::plan {

std::vector<int64_t> CountReads(const Plan& plan) {
  std::vector<int64_t> counts(plan.graph.values.size());
  const auto count = [&](ValueId v) {
    if (v != kNoValue) ++counts[plan.graph.Resolve(v)];
  };
  for (const ValueId v : plan.graph.results) count(v);
  VisitAllSlots(plan.steps, [&](ValueId v, bool is_write) {
    if (!is_write) count(v);
  });
  return counts;
}

}  // namespace hlo::plan
