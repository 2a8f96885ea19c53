#include "plan/bytecode/stable_slots.h"

#include "plan/memory/aliasing.h"
#include "plan/visit.h"

namespace hlo::plan {

void StableSlots::Walk(std::vector<Step>& steps) {
  for (Step& step : steps) {
    if (auto* loop = std::get_if<LoopStep>(&step.what)) {
      Walk(loop->initial);
      Walk(loop->condition);
      Walk(loop->body);
      Walk(loop->next);
    } else if (auto* branch = std::get_if<BranchStep>(&step.what)) {
      for (BranchStep::Branch& each : branch->branches) {
        Walk(each.steps);
        Walk(each.results);
      }
    } else {
      VisitSlots(step, [&](Slot& slot, bool is_write) {
        if (is_write) ++writes_[slot];
      });
    }
  }
}

void StableSlots::Walk(std::vector<Move>& moves) {
  for (Move& move : moves) {
    ++writes_[move.to];
    if (!move.swaps) continue;
    const Buffer &to = plan_.buffers[move.to], &from = plan_.buffers[move.from];
    const bool small = to.kind == Buffer::Kind::kArena && from.kind == Buffer::Kind::kArena &&
                       to.byte_count <= kMaxCopiedBytes;
    move.swaps = !small;
    if (small) dead_sources_.insert({move.to, move.from});
    if (small) continue;
    ++writes_[move.from];
    swapped_.insert({move.to, move.from});
  }
}

}  // namespace hlo::plan
