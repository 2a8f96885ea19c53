#include "plan/validate/plan_validator.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "fmt/format.h"
#include "plan/analysis/counted_loops.h"
#include "plan/step_cost.h"
#include "plan/validate/memory_model.h"
#include "plan/validate/step_validator.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

class Validator {
 public:
  explicit Validator(const Plan& plan)
      : plan_(plan), graph_(plan.graph), memory_(plan), steps_(plan, memory_) {}

  absl::Status Run() {
    HLO_RETURN_IF_ERROR(memory_.CheckBuffers());
    HLO_RETURN_IF_ERROR(Steps(plan_.steps, *graph_.entry));
    if (plan_.results.size() != graph_.results.size())
      return absl::InternalError("the plan has another number of results than the graph");
    for (size_t k = 0; k < plan_.results.size(); ++k) {
      if (graph_.results[k] == kNoValue) continue;
      if (absl::Status status = steps_.Read(plan_.results[k], graph_.results[k]); !status.ok())
        return absl::InternalError(fmt::format("result {}: {}", k, Message(status)));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Problem(const Step& step, std::string_view what) const {
    return absl::InternalError(
        fmt::format("step {} ({} '{}'): {}", number_, KernelName(step), step.instruction->name(), what));
  }
  absl::Status At(const Step& step, const absl::Status& status) const {
    return status.ok() ? status : Problem(step, Message(status));
  }

  // --- Steps in order

  absl::Status Steps(const std::vector<Step>& steps, const Block& block) {
    HLO_RETURN_IF_ERROR(CheckEffects(steps, block));
    for (const Step& step : steps) {
      ++number_;
      if (const auto* loop = std::get_if<LoopStep>(&step.what)) {
        HLO_RETURN_IF_ERROR(Loop(step, *loop));
      } else if (const auto* branch = std::get_if<BranchStep>(&step.what)) {
        HLO_RETURN_IF_ERROR(Branch(step, *branch));
      } else {
        HLO_RETURN_IF_ERROR(At(step, steps_.Run(step)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckEffects(const std::vector<Step>& steps, const Block& block) const {
    auto next = steps.begin();
    for (const Node* node : block.nodes) {
      if (!node->has_effect) continue;
      next = std::find_if(next, steps.end(),
                          [](const Step& step) { return step.node != nullptr && step.node->has_effect; });
      if (next == steps.end() || next->node != node) {
        return absl::InternalError(
            fmt::format("the effect of '{}' is missing or comes out of order", node->instruction->name()));
      }
      ++next;
    }
    if (std::any_of(next, steps.end(),
                    [](const Step& step) { return step.node != nullptr && step.node->has_effect; }))
      return absl::InternalError("an effect is repeated, or belongs to another computation");
    return absl::OkStatus();
  }

  // --- Control flow

  absl::Status Moves(const std::vector<Move>& moves) {
    std::vector<MemoryModel::Values> from, to;
    for (const Move& move : moves) {
      if (!steps_.IsSlot(move.from) || !steps_.IsSlot(move.to))
        return absl::InternalError("a move has no buffer");
      HLO_RETURN_IF_ERROR(steps_.CheckWritable(move.to));
      const bool literal = steps_.BufferOf(move.to).kind == Buffer::Kind::kLiteral ||
                           steps_.BufferOf(move.from).kind == Buffer::Kind::kLiteral;
      if (!literal && steps_.BufferOf(move.to).byte_count != steps_.BufferOf(move.from).byte_count)
        return absl::InternalError(fmt::format("b{} and b{} differ in size", move.to, move.from));
      if (memory_.Canonical(move.to) != memory_.Canonical(move.from) && memory_.Overlap(move.to, move.from))
        return absl::InternalError(fmt::format("b{} overlaps b{}, which moves there", move.to, move.from));
      from.push_back(memory_.ValuesAt(move.from));
      to.push_back(memory_.ValuesAt(move.to));
    }
    HLO_RETURN_IF_ERROR(CheckTargets(moves));
    const auto stays = [&](const Move& move) {
      return memory_.Canonical(move.to) == memory_.Canonical(move.from);
    };
    for (const Move& move : moves) {
      if (stays(move)) continue;
      memory_.Overwrite(move.to);
      if (move.swaps) memory_.Overwrite(move.from);
    }
    // A result that reuses its argument's memory is already in place.
    for (size_t k = 0; k < moves.size(); ++k) {
      memory_.Set(moves[k].to, from[k]);
      if (moves[k].swaps) memory_.Set(moves[k].from, to[k]);
    }
    return absl::OkStatus();
  }

  // Moves are parallel: each buffer is written once.
  absl::Status CheckTargets(const std::vector<Move>& moves) const {
    std::vector<Slot> targets;
    for (const Move& move : moves) {
      targets.push_back(move.to);
      if (move.swaps) targets.push_back(move.from);
    }
    for (size_t i = 0; i < targets.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (memory_.Overlap(targets[i], targets[j]))
          return absl::InternalError(fmt::format("two moves write to b{} and b{}", targets[j], targets[i]));
      }
    }
    return absl::OkStatus();
  }

  // Collects the buffers that the steps may write.
  void CollectWritten(const std::vector<Step>& steps, std::vector<Slot>* written) const {
    VisitAllSlots(steps, [&](Slot slot, bool is_write) {
      if (is_write && steps_.IsSlot(slot)) written->push_back(slot);
    });
    VisitAllMoves(steps, [&](const std::vector<Move>& moves) { AddMoved(moves, written); });
  }
  void AddMoved(const std::vector<Move>& moves, std::vector<Slot>* written) const {
    for (const Move& move : moves) {
      if (steps_.IsSlot(move.to)) written->push_back(move.to);
      if (move.swaps && steps_.IsSlot(move.from)) written->push_back(move.from);
    }
  }

  absl::Status Loop(const Step& step, const LoopStep& loop) {
    if (step.node == nullptr || step.node->kind != Node::Kind::kWhile ||
        loop.states.size() != step.node->results.size())
      return Problem(step, "its instruction is not a loop");
    const Node& node = *step.node;
    HLO_RETURN_IF_ERROR(At(step, Moves(loop.initial)));
    HLO_RETURN_IF_ERROR(At(step, ReadStates(loop, node.operands)));
    std::vector<Slot> written;
    CollectWritten(loop.condition, &written);
    CollectWritten(loop.body, &written);
    AddMoved(loop.next, &written);
    std::sort(written.begin(), written.end());
    written.erase(std::unique(written.begin(), written.end()), written.end());
    // An iteration may rely only on its states and on buffers that no iteration overwrites.
    for (const Slot slot : written) memory_.Overwrite(slot);
    for (size_t k = 0; k < loop.states.size(); ++k) {
      if (loop.states[k] >= 0) memory_.Add(loop.states[k], graph_.Resolve(node.results[k]));
    }
    HLO_RETURN_IF_ERROR(At(step, CheckCounted(loop, node, written)));
    HLO_RETURN_IF_ERROR(Steps(loop.condition, *node.blocks[0]));
    HLO_RETURN_IF_ERROR(At(step, steps_.Read(loop.predicate, node.predicate)));
    const size_t after_condition = memory_.Mark();
    HLO_RETURN_IF_ERROR(Steps(loop.body, *node.blocks[1]));
    HLO_RETURN_IF_ERROR(At(step, Moves(loop.next)));
    HLO_RETURN_IF_ERROR(At(step, ReadStates(loop, node.next)));
    memory_.RollBack(after_condition);
    return absl::OkStatus();
  }

  // Each state's buffer must hold the initial value, or the next one.
  absl::Status ReadStates(const LoopStep& loop, const std::vector<ValueId>& values) const {
    for (size_t k = 0; k < loop.states.size(); ++k) {
      if (loop.states[k] >= 0) HLO_RETURN_IF_ERROR(steps_.Read(loop.states[k], values[k]));
    }
    return absl::OkStatus();
  }

  // The recorded trip count must agree with the loop's condition and body.
  absl::Status CheckCounted(const LoopStep& loop, const Node& node, absl::Span<const Slot> written) const {
    if (!loop.counted.has_value()) return absl::OkStatus();
    const CountedLoop& counted = *loop.counted;
    const std::optional<CountedLoop> found = FindCountedLoop(graph_, node);
    if (!found.has_value() || found->step != counted.step || found->type != counted.type ||
        found->direction != counted.direction || found->first_value != counted.first_value ||
        found->limit_value != counted.limit_value)
      return absl::InternalError("it does not count as its condition does");
    const auto changes = [&](Slot slot) { return memory_.Overlap(slot, counted.limit); };
    HLO_RETURN_IF_ERROR(steps_.Read(counted.counter, found->counter));
    HLO_RETURN_IF_ERROR(steps_.Read(counted.limit, found->limit));
    if (std::any_of(written.begin(), written.end(), changes))
      return absl::InternalError(fmt::format("its limit in b{} is overwritten", counted.limit));
    return absl::OkStatus();
  }

  absl::Status Branch(const Step& step, const BranchStep& branch) {
    if (step.node == nullptr || step.node->kind != Node::Kind::kConditional ||
        step.node->blocks.size() != branch.branches.size())
      return Problem(step, "its instruction is not a conditional");
    const Node& node = *step.node;
    HLO_RETURN_IF_ERROR(At(step, steps_.Read(branch.choice, node.operands[0])));
    if (graph_.values[graph_.Resolve(node.operands[0])].shape.type() != branch.choice_type)
      return Problem(step, "its branch index has another type");
    using Changes = absl::flat_hash_map<Slot, MemoryModel::Values>;
    std::vector<Changes> ends;
    const size_t before = memory_.Mark();
    for (size_t b = 0; b < branch.branches.size(); ++b) {
      HLO_RETURN_IF_ERROR(Steps(branch.branches[b].steps, *node.blocks[b]));
      HLO_RETURN_IF_ERROR(At(step, Moves(branch.branches[b].results)));
      for (size_t k = 0; k < node.results.size(); ++k) {
        if (node.results[k] == kNoValue) continue;
        const auto holders = memory_.HoldersOf(graph_.Resolve(node.branch_results[b][k]));
        for (const Slot slot : holders) memory_.Add(slot, graph_.Resolve(node.results[k]));
      }
      Changes& end = ends.emplace_back();
      for (const Slot slot : memory_.ChangedSince(before)) end[slot] = memory_.ValuesAt(slot);
      memory_.RollBack(before);
    }
    // A buffer holds a value afterwards if it does so after every branch.
    Changes joined;
    for (const Changes& end : ends) {
      for (const auto& [slot, values] : end) {
        MemoryModel::Values common = values;
        for (const Changes& other : ends) {
          const auto found = other.find(slot);
          const MemoryModel::Values& there = found == other.end() ? memory_.ValuesAt(slot) : found->second;
          const auto lost = [&](ValueId v) {
            return std::find(there.begin(), there.end(), v) == there.end();
          };
          common.erase(std::remove_if(common.begin(), common.end(), lost), common.end());
        }
        joined[slot] = std::move(common);
      }
    }
    for (const auto& [slot, values] : joined) memory_.Set(slot, {});
    for (const auto& [slot, values] : joined) memory_.Set(slot, values);
    return absl::OkStatus();
  }

  const Plan& plan_;
  const Graph& graph_;
  MemoryModel memory_;
  StepValidator steps_;
  int64_t number_ = -1;  // The number of the step in printed order.
};

}  // namespace

absl::Status ValidatePlan(const Plan& plan) {
  absl::Status status = Validator(plan).Run();
  if (status.ok()) return status;
  return absl::InternalError(fmt::format("the plan is wrong: {}", Message(status)));
}

}  // namespace hlo::plan
