#include "plan/memory/buffer_assignment.h"

#include <algorithm>

#include "plan/memory/aliasing.h"
#include "plan/memory/offset_assignment.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

// Gives storages their memory and their slots.
class Placer {
 public:
  Placer(Plan& plan, Liveness& liveness, const Sharing& sharing)
      : plan_(plan), liveness_(liveness), storages_(liveness.storages()), sharing_(sharing) {}

  void Run() {
    PlaceResults();
    PlaceReferenceValues(plan_.steps);
    PlaceExchanged();
    PlaceArena();
    PlaceTaken();
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

  void PlaceResults() {
    for (ValueId v : plan_.graph.results) {
      if (v == kNoValue) continue;
      const int32_t storage = StorageOf(v);
      if (storages_[storage].is_arena && !storages_[storage].exchanged && storages_[storage].slot < 0)
        plan_.buffers[NewBuffer(storage, Buffer::Kind::kOwn)].is_result = true;
    }
  }

  // What reference functions read and write are values of their own.
  void PlaceReferenceValues(std::vector<Step>& steps) {
    for (Step& step : steps) {
      if (auto* loop = std::get_if<LoopStep>(&step.what)) {
        PlaceReferenceValues(loop->condition);
        PlaceReferenceValues(loop->body);
      } else if (auto* branch = std::get_if<BranchStep>(&step.what)) {
        for (BranchStep::Branch& each : branch->branches) PlaceReferenceValues(each.steps);
      } else if (std::holds_alternative<ReferenceStep>(step.what)) {
        VisitSlots(step, [&](int32_t& v, bool) {
          const int32_t storage = StorageOf(v);
          if (storages_[storage].is_arena && storages_[storage].slot < 0)
            NewBuffer(storage, Buffer::Kind::kOwn);
        });
      }
    }
  }

  // Buffers that change places with owned ones are owned too.
  void PlaceExchanged() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [from, to] : sharing_.exchanged) {
        const int32_t a = StorageOf(from), b = StorageOf(to);
        if ((storages_[a].slot < 0) == (storages_[b].slot < 0)) continue;
        NewBuffer(storages_[a].slot < 0 ? a : b, Buffer::Kind::kOwn);
        changed = true;
      }
    }
  }

  void PlaceArena() {
    std::vector<int32_t> in_arena;
    for (size_t s = 0; s < storages_.size(); ++s) {
      Storage& storage = storages_[s];
      if (storage.same_as != -1 || storage.slot >= 0) continue;
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
    std::vector<Lifetime> lifetimes;
    for (const int32_t s : in_arena)
      lifetimes.push_back({storages_[s].begin, storages_[s].end, storages_[s].byte_count});
    const Placement placement = PlaceLifetimes(lifetimes);
    for (size_t i = 0; i < in_arena.size(); ++i)
      plan_.buffers[NewBuffer(in_arena[i], Buffer::Kind::kArena)].offset = placement.offsets[i];
    plan_.arena_bytes = placement.byte_count;
  }

  // Results in place of arguments, where nothing lies in them before the argument was read for the last time.
  void PlaceTaken() {
    for (const auto& [argument, value] : sharing_.takers) {
      const Storage &from = storages_[argument], &to = liveness_.storage(value);
      if (to.slot < 0 || to.begin < from.last_use || to.byte_count != from.byte_count) continue;
      Buffer& buffer = plan_.buffers[to.slot];
      if (buffer.is_result && buffer.takes < 0) buffer.takes = from.slot;
    }
  }

  // --- Renumbering

  Slot SlotOf(ValueId v) const { return storages_[StorageOf(v)].slot; }

  void RenumberMoves(std::vector<Move>& moves) {
    for (Move& move : moves) move = {SlotOf(move.to), SlotOf(move.from), move.exchange};
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
          step.values.push_back(liveness_.Real(v));
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
  const Sharing& sharing_;
};

}  // namespace

void AssignBuffers(Plan& plan, bool in_place) {
  Liveness liveness(plan);
  const Sharing sharing = ShareStorages(plan, liveness, in_place);
  Placer(plan, liveness, sharing).Run();
}

}  // namespace hlo::plan
