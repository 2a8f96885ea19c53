#include "plan/visit.h"

namespace hlo::plan {
namespace {

class Counter {
 public:
  explicit Counter(const Graph& graph) : graph_(graph), counts_(graph.values.size()) {}

  void Count(ValueId v) {
    if (v != kNoValue) ++counts_[graph_.Resolve(v)];
  }
  void Count(const std::vector<Move>& moves) {
    for (const Move& move : moves) Count(move.from);
  }
  void Count(std::vector<Step>& steps) {
    for (Step& step : steps) {
      VisitSlots(step, [&](int32_t& v, bool is_write) {
        if (!is_write) Count(v);
      });
      if (auto* loop = std::get_if<LoopStep>(&step.what)) {
        Count(loop->predicate);
        Count(loop->initial);
        Count(loop->next);
        Count(loop->condition);
        Count(loop->body);
      } else if (auto* branch = std::get_if<BranchStep>(&step.what)) {
        Count(branch->choice);
        for (BranchStep::Branch& each : branch->branches) {
          Count(each.results);
          Count(each.steps);
        }
      }
    }
  }
  std::vector<int64_t> Take() { return std::move(counts_); }

 private:
  const Graph& graph_;
  std::vector<int64_t> counts_;
};

}  // namespace

std::vector<int64_t> CountReads(Plan& plan) {
  Counter counter(plan.graph);
  for (const ValueId v : plan.graph.results) counter.Count(v);
  counter.Count(plan.steps);
  return counter.Take();
}

}  // namespace hlo::plan
