#include "plan/validate/slot_liveness.h"

#include <utility>

#include "plan/validate/symbolic_steps.h"
#include "plan/visit.h"

namespace hlo::plan {

bool SlotSet::AddAll(const SlotSet& other) {
  bool added = false;
  for (size_t w = 0; w < words_.size(); ++w) {
    added |= (other.words_[w] & ~words_[w]) != 0;
    words_[w] |= other.words_[w];
  }
  return added;
}

StepLiveness::StepLiveness(const Plan& plan) : plan_(plan), at_end_(plan.buffers.size()) {
  for (const Slot slot : plan.results) {
    if (slot >= 0) at_end_.Add(slot);
  }
  // Callers can read arguments and constants afterwards.
  for (size_t slot = 0; slot < plan.buffers.size(); ++slot) {
    const Buffer::Kind kind = plan.buffers[slot].kind;
    if (kind == Buffer::Kind::kParameter || kind == Buffer::Kind::kConstant)
      at_end_.Add(static_cast<Slot>(slot));
  }
  Before(plan.steps, at_end_);
}

SlotSet StepLiveness::Before(const std::vector<Step>& steps, SlotSet live) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) live = Before(*step, std::move(live));
  return live;
}

SlotSet StepLiveness::Before(const std::vector<Move>& moves, const SlotSet& live) {
  SlotSet before = live;
  for (const Move& move : moves) before.Remove(move.to);
  for (const Move& move : moves) {
    if (move.swaps) before.Remove(move.from);
  }
  for (const Move& move : moves) {
    if (live.Contains(move.to)) before.Add(move.from);
    if (move.swaps && live.Contains(move.from)) before.Add(move.to);
  }
  return before;
}

SlotSet StepLiveness::Before(const Step& step, SlotSet live) {
  if (const auto* loop = std::get_if<LoopStep>(&step.what)) {
    SlotSet test = live;  // Live after the condition.
    test.Add(loop->predicate);
    // An inner loop is visited again with more live slots: it continues from its last result.
    if (const auto known = after_condition_.find(&step); known != after_condition_.end())
      test.AddAll(known->second);
    SlotSet header = Before(loop->condition, test);
    while (test.AddAll(Before(loop->body, Before(loop->next, header))))
      header = Before(loop->condition, test);
    at_[&step] = header;
    after_condition_[&step] = std::move(test);
    return Before(loop->initial, header);
  }
  if (const auto* branch = std::get_if<BranchStep>(&step.what)) {
    at_[&step] = live;
    SlotSet before(plan_.buffers.size());
    for (const BranchStep::Branch& each : branch->branches)
      before.AddAll(Before(each.steps, Before(each.results, live)));
    before.Add(branch->choice);
    return before;
  }
  VisitSlots(step, [&](const Slot& slot, bool is_write) {
    if (is_write && WritesWhole(plan_, step, slot)) live.Remove(slot);
  });
  VisitSlots(step, [&](const Slot& slot, bool is_write) {
    if (!is_write) live.Add(slot);
  });
  return live;
}

}  // namespace hlo::plan
