#include "plan/memory/buffer_assignment.h"

#include <algorithm>

#include "plan/memory/aliasing.h"
#include "plan/memory/offset_assignment.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

// Assigns buffers and slots to storages.
class BufferAssigner {
 public:
  BufferAssigner(Plan& plan, Liveness& liveness, const Aliasing& aliasing, ChangeCounter& changes)
      : plan_(plan),
        liveness_(liveness),
        storages_(liveness.storages()),
        aliasing_(aliasing),
        changes_(changes) {}

  void Run() {
    AssignResults();
    AssignReferenceValues(plan_.steps);
    AssignSwapped();
    AssignArena();
    AssignDonations();
    Renumber(plan_.steps);
    for (ValueId v : plan_.graph.results) {
      plan_.results.push_back(v == kNoValue ? -1 : SlotOf(v));
      plan_.result_shapes.push_back(v == kNoValue ? Shape::Token() : ShapeOf(v));
    }
  }

 private:
  const Shape& ShapeOf(ValueId v) const { return plan_.graph.values[v].shape; }
  int32_t StorageOf(ValueId v) const { return liveness_.StorageOf(v); }

  Slot NewBuffer(int32_t storage, Buffer::Kind kind) {
    Storage& s = storages_[storage];
    const Value& value = plan_.graph.values[s.first];
    s.slot = static_cast<Slot>(plan_.buffers.size());
    plan_.buffers.push_back({kind, s.byte_count, 0, value.parameter, value.constant, value.shape});
    return s.slot;
  }

  void AssignResults() {
    for (ValueId v : plan_.graph.results) {
      if (v == kNoValue) continue;
      const int32_t storage = StorageOf(v);
      if (storages_[storage].is_arena && !storages_[storage].swapped && storages_[storage].slot < 0)
        plan_.buffers[NewBuffer(storage, Buffer::Kind::kAllocated)].is_result = true;
    }
  }

  // Operands and results of reference functions are separate allocations.
  void AssignReferenceValues(std::vector<Step>& steps) {
    for (Step& step : steps) {
      VisitNestedSteps(step, [&](std::vector<Step>& nested) { AssignReferenceValues(nested); });
      if (std::holds_alternative<ReferenceStep>(step.what)) {
        VisitSlots(step, [&](int32_t& v, bool) {
          const int32_t storage = StorageOf(v);
          if (storages_[storage].is_arena && storages_[storage].slot < 0)
            NewBuffer(storage, Buffer::Kind::kAllocated);
        });
      }
    }
  }

  // Buffers that are swapped with owned ones are owned too.
  void AssignSwapped() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [from, to] : aliasing_.swapped) {
        const int32_t a = StorageOf(from), b = StorageOf(to);
        if ((storages_[a].slot < 0) == (storages_[b].slot < 0)) continue;
        NewBuffer(storages_[a].slot < 0 ? a : b, Buffer::Kind::kAllocated);
        changed = true;
      }
    }
  }

  void AssignArena() {
    std::vector<int32_t> in_arena;
    for (size_t s = 0; s < storages_.size(); ++s) {
      Storage& storage = storages_[s];
      if (storage.merged_into != -1 || storage.slot >= 0) continue;
      if (storage.is_arena) {
        in_arena.push_back(static_cast<int32_t>(s));
      } else {
        const Value& value = plan_.graph.values[storage.first];
        NewBuffer(static_cast<int32_t>(s), value.is_dynamic            ? Buffer::Kind::kLiteral
                                           : value.constant != nullptr ? Buffer::Kind::kConstant
                                                                       : Buffer::Kind::kParameter);
      }
    }
    std::stable_sort(in_arena.begin(), in_arena.end(),
                     [&](int32_t a, int32_t b) { return storages_[a].begin < storages_[b].begin; });
    std::vector<LiveRange> live_ranges;
    for (const int32_t s : in_arena)
      live_ranges.push_back({storages_[s].begin, storages_[s].end, storages_[s].byte_count});
    const OffsetAssignment assignment = AssignOffsets(live_ranges);
    for (size_t i = 0; i < in_arena.size(); ++i)
      plan_.buffers[NewBuffer(in_arena[i], Buffer::Kind::kArena)].offset = assignment.offsets[i];
    plan_.arena_bytes = assignment.byte_count;
  }

  // A result may use a donated argument's buffer if it is not written before the argument's last use.
  void AssignDonations() {
    for (const auto& [argument, value] : aliasing_.donations) {
      const Storage &from = storages_[argument], &to = liveness_.storage(value);
      if (to.slot < 0 || to.begin < from.last_use || to.byte_count != from.byte_count) continue;
      Buffer& buffer = plan_.buffers[to.slot];
      if (buffer.is_result && buffer.donor < 0 && changes_.Allow("in_place_aliasing"))
        buffer.donor = from.slot;
    }
  }

  // --- Renumbering

  Slot SlotOf(ValueId v) const { return storages_[StorageOf(v)].slot; }

  void RenumberMoves(std::vector<Move>& moves) {
    for (Move& move : moves) move = {SlotOf(move.to), SlotOf(move.from), move.swaps};
  }
  void Renumber(std::vector<Step>& steps) {
    for (Step& step : steps) {
      if (auto* loop = std::get_if<LoopStep>(&step.what)) {
        RenumberMoves(loop->initial);
        Renumber(loop->condition);
        loop->predicate = SlotOf(loop->predicate);
        if (loop->counted.has_value()) {
          loop->counted->counter = SlotOf(loop->counted->counter);
          loop->counted->limit = SlotOf(loop->counted->limit);
        }
        Renumber(loop->body);
        RenumberMoves(loop->next);
        for (const ValueId state : step.node->results)
          loop->states.push_back(state == kNoValue || liveness_.value(state).storage < 0 ? -1
                                                                                         : SlotOf(state));
      } else if (auto* branch = std::get_if<BranchStep>(&step.what)) {
        branch->choice = SlotOf(branch->choice);
        for (BranchStep::Branch& each : branch->branches) {
          Renumber(each.steps);
          RenumberMoves(each.results);
        }
      } else {
        VisitSlots(step, [&](int32_t& v, bool) {
          step.values.push_back(liveness_.Resolve(v));
          v = SlotOf(v);
        });
        auto* tiles = std::get_if<TileStep>(&step.what);
        if (tiles != nullptr && tiles->updated != kNoValue) {
          tiles->updated = SlotOf(tiles->updated);
          tiles->result = SlotOf(tiles->result);
        }
      }
    }
  }

  Plan& plan_;
  Liveness& liveness_;
  std::vector<Storage>& storages_;
  const Aliasing& aliasing_;
  ChangeCounter& changes_;
};

}  // namespace

void AssignBuffers(Plan& plan, bool in_place, ChangeCounter& changes) {
  Liveness liveness(plan);
  const Aliasing aliasing = AliasStorages(plan, liveness, in_place, changes);
  BufferAssigner(plan, liveness, aliasing, changes).Run();
}

}  // namespace hlo::plan
