#include "plan/memory/schedule.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

constexpr int64_t kLarge = 4096;  // In bytes; smaller values do not change the order.

// Reorders the steps of one block.
class Scheduler {
 public:
  Scheduler(const Graph& graph, std::vector<Step>& steps, const std::vector<ValueId>& results)
      : graph_(graph), steps_(steps), nodes_(steps.size()) {
    for (size_t i = 0; i < steps.size(); ++i) AddNode(i);
    for (size_t i = 0; i < steps.size(); ++i) {
      for (const ValueId v : nodes_[i].reads) {
        const auto found = values_.find(v);
        if (found == values_.end()) continue;
        found->second.readers.push_back(i);
        ++nodes_[i].missing;
        nodes_[i].may_free |= found->second.bytes >= kLarge;
      }
    }
    for (auto& [v, value] : values_) value.uses_left = static_cast<int64_t>(value.readers.size());
    for (const ValueId v : results) {
      if (v == kNoValue) continue;
      if (const auto found = values_.find(Resolve(v)); found != values_.end()) ++found->second.uses_left;
    }
  }

  void Run(ChangeCounter& changes) {
    for (size_t i = 0; i < nodes_.size(); ++i) Emit(i);
    if (std::is_sorted(order_.begin(), order_.end()) ||
        !changes.Allow("schedule", steps_[order_[0]].instruction->name()))
      return;
    std::vector<Step> ordered;
    ordered.reserve(steps_.size());
    for (const size_t i : order_) ordered.push_back(std::move(steps_[i]));
    steps_ = std::move(ordered);
  }

 private:
  struct Node {
    absl::flat_hash_set<ValueId> reads, writes;
    int64_t missing = 0;    // The values of the block that it reads and that are not computed yet.
    bool may_free = false;  // True if it reads a large value of the block.
    bool emitted = false;
  };
  struct ValueOfBlock {
    int64_t bytes = 0;
    std::vector<size_t> readers;
    int64_t uses_left = 0, writers_left = 0;
  };

  ValueId Resolve(ValueId v) const { return graph_.Resolve(v); }

  void AddNode(size_t i) {
    Node& node = nodes_[i];
    const auto read = [&](ValueId v) {
      if (v != kNoValue) node.reads.insert(Resolve(v));
    };
    const auto write = [&](ValueId v) {
      if (v != kNoValue) node.writes.insert(Resolve(v));
    };
    VisitAll(steps_[i], read, write);
    for (const ValueId v : node.writes) {
      node.reads.erase(v);
      ++values_[v].writers_left;
      values_[v].bytes = graph_.values[v].is_dynamic ? 0 : *DenseByteCount(graph_.values[v].shape);
    }
  }

  // Visits the step and all steps inside it.
  template <class Read, class Write>
  static void VisitAll(Step& step, const Read& read, const Write& write) {
    const auto all = [&](std::vector<Step>& steps) {
      for (Step& each : steps) VisitAll(each, read, write);
    };
    const auto moves = [&](const std::vector<Move>& list) {
      for (const Move& move : list) {
        read(move.from);
        write(move.to);
      }
    };
    VisitSlots(step, [&](int32_t& v, bool is_write) { is_write ? write(v) : read(v); });
    if (auto* loop = std::get_if<LoopStep>(&step.what)) {
      moves(loop->initial);
      moves(loop->next);
      all(loop->condition);
      all(loop->body);
      read(loop->predicate);
      if (loop->counted.has_value()) read(loop->counted->limit);
    } else if (auto* branch = std::get_if<BranchStep>(&step.what)) {
      read(branch->choice);
      for (BranchStep::Branch& each : branch->branches) {
        all(each.steps);
        moves(each.results);
      }
    }
  }

  // True if the step only computes. Others have side effects, or an order among themselves.
  bool IsMovable(size_t i) const {
    const auto& what = steps_[i].what;
    return nodes_[i].may_free &&
           (std::holds_alternative<TileStep>(what) || std::holds_alternative<ReduceStep>(what) ||
            std::holds_alternative<RowsStep>(what) || std::holds_alternative<KernelStep>(what) ||
            std::holds_alternative<ProductStep>(what));
  }

  // Returns the bytes that the step frees, minus those that it allocates.
  int64_t Freed(size_t i) const {
    int64_t bytes = 0;
    for (const ValueId v : nodes_[i].writes) bytes -= values_.at(v).bytes;
    for (const ValueId v : nodes_[i].reads) {
      const auto found = values_.find(v);
      if (found != values_.end() && found->second.uses_left == 1) bytes += found->second.bytes;
    }
    return bytes;
  }

  // Emits the step, and then the steps that it makes ready and profitable.
  void Emit(size_t first) {
    std::vector<size_t> next = {first};
    while (!next.empty()) {
      const size_t i = next.back();
      next.pop_back();
      Node& node = nodes_[i];
      if (node.emitted || (i != first && (node.missing > 0 || Freed(i) <= 0))) continue;
      node.emitted = true;
      order_.push_back(i);
      std::vector<size_t> candidates;
      for (const ValueId v : node.writes) {
        ValueOfBlock& value = values_.at(v);
        if (--value.writers_left > 0) continue;
        for (const size_t reader : value.readers) {
          --nodes_[reader].missing;
          candidates.push_back(reader);
        }
      }
      for (const ValueId v : node.reads) {
        const auto found = values_.find(v);
        if (found == values_.end()) continue;
        if (--found->second.uses_left == 1 && found->second.bytes >= kLarge)
          candidates.insert(candidates.end(), found->second.readers.begin(), found->second.readers.end());
      }
      // Candidates are tried in program order.
      std::sort(candidates.begin(), candidates.end(), std::greater<>());
      for (const size_t candidate : candidates) {
        if (!nodes_[candidate].emitted && IsMovable(candidate)) next.push_back(candidate);
      }
    }
  }

  const Graph& graph_;
  std::vector<Step>& steps_;
  std::vector<Node> nodes_;
  absl::flat_hash_map<ValueId, ValueOfBlock> values_;  // The values that the block computes.
  std::vector<size_t> order_;
};

void Schedule(const Graph& graph, std::vector<Step>& steps, const std::vector<ValueId>& results,
              ChangeCounter& changes) {
  const auto sources = [](const std::vector<Move>& moves) {
    std::vector<ValueId> values;
    for (const Move& move : moves) values.push_back(move.from);
    return values;
  };
  for (Step& step : steps) {
    if (auto* loop = std::get_if<LoopStep>(&step.what)) {
      std::vector<ValueId> needed = {loop->predicate};
      if (loop->counted.has_value()) needed.push_back(loop->counted->limit);
      Schedule(graph, loop->condition, needed, changes);
      Schedule(graph, loop->body, sources(loop->next), changes);
    } else if (auto* branch = std::get_if<BranchStep>(&step.what)) {
      for (BranchStep::Branch& each : branch->branches)
        Schedule(graph, each.steps, sources(each.results), changes);
    }
  }
  Scheduler(graph, steps, results).Run(changes);
}

}  // namespace

void ScheduleForMemory(Plan& plan, ChangeCounter& changes) {
  Schedule(plan.graph, plan.steps, plan.graph.results, changes);
}

}  // namespace hlo::plan
