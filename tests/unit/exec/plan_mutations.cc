#include "plan_mutations.h"

#include <algorithm>
#include <utility>

#include "plan/visit.h"

namespace hlo::test {
namespace {

using plan::Buffer;
using plan::Move;
using plan::Plan;
using plan::Slot;
using plan::Step;

constexpr std::string_view kNames[] = {
    "another buffer is read",     "another buffer is written", "arguments are swapped",
    "two buffers are one",        "a buffer is moved",         "a live range is cut short",
    "a move is dropped",          "a move is added",           "a move swaps or copies",
    "a move has another end",     "a program is dropped",      "programs are swapped",
    "steps are swapped",          "a step is dropped",         "a step is repeated",
    "a result is another buffer", "an argument is taken",      "control reads another buffer"};

class Mutator {
 public:
  Mutator(std::mt19937_64& random, Plan& plan) : random_(random), plan_(plan) { Collect(plan.steps); }

  bool Run(int kind) {
    switch (kind) {
      case 0:
        return Renumber(false);
      case 1:
        return Renumber(true);
      case 2:
        return SwapArguments();
      case 3:
        return MergeBuffers();
      case 4:
        return MoveBuffer();
      case 5:
        return Overlap();
      case 6:
        return DropMove();
      case 7:
        return AddMove();
      case 8:
        return ToggleExchange();
      case 9:
        return ChangeMove();
      case 10:
        return ChangePrograms(true);
      case 11:
        return ChangePrograms(false);
      case 12:
        return SwapSteps();
      case 13:
        return DropStep(false);
      case 14:
        return DropStep(true);
      case 15:
        return ChangeResult();
      case 16:
        return TakeArgument();
      default:
        return ChangeControl();
    }
  }

 private:
  void Collect(std::vector<Step>& steps) {
    lists_.push_back(&steps);
    for (Step& step : steps) {
      steps_.push_back(&step);
      if (auto* loop = std::get_if<plan::LoopStep>(&step.what)) {
        moves_.push_back(&loop->initial);
        moves_.push_back(&loop->next);
        control_.push_back(&loop->predicate);
        for (Slot& state : loop->states) states_.push_back(&state);
        if (loop->counted.has_value()) {
          control_.push_back(&loop->counted->counter);
          control_.push_back(&loop->counted->limit);
        }
        Collect(loop->condition);
        Collect(loop->body);
      } else if (auto* branch = std::get_if<plan::BranchStep>(&step.what)) {
        control_.push_back(&branch->choice);
        for (auto& each : branch->branches) {
          moves_.push_back(&each.results);
          Collect(each.steps);
        }
      }
    }
  }

  size_t Below(size_t n) { return random_() % n; }
  template <class T>
  T& Any(std::vector<T>& from) {
    return from[Below(from.size())];
  }
  Slot AnySlot() { return static_cast<Slot>(Below(plan_.buffers.size())); }
  // Prefers slots of the same size, because accesses to smaller buffers are detected too easily.
  Slot SlotLike(Slot slot) {
    for (int tries = 0; tries < 20; ++tries) {
      const Slot other = AnySlot();
      if (other != slot && plan_.buffers[other].byte_count == plan_.buffers[slot].byte_count) return other;
    }
    return AnySlot();
  }

  struct Place {
    int32_t number;  // Position in the order of VisitSlots.
    Slot slot;
  };
  std::vector<Place> CountOf(const Step& step, bool writes, bool reads) {
    std::vector<Place> places;
    int32_t number = 0;
    plan::VisitSlots(step, [&](Slot slot, bool is_write) {
      if (is_write ? writes : reads) places.push_back({number, slot});
      ++number;
    });
    return places;
  }
  // Programs are prepared again after a visit, so slots may only change during one.
  void SetSlot(Step& step, int32_t place, Slot to) {
    int32_t number = 0;
    plan::VisitSlots(step, [&](int32_t& slot, bool) {
      if (number++ == place) slot = to;
    });
  }

  bool Renumber(bool write) {
    Step& step = *Any(steps_);
    std::vector<Place> places = CountOf(step, write, !write);
    if (places.empty()) return false;
    const Place place = Any(places);
    const Slot other = SlotLike(place.slot);
    SetSlot(step, place.number, other);
    return place.slot != other;
  }
  bool SwapArguments() {
    Step& step = *Any(steps_);
    std::vector<Place> places = CountOf(step, true, true);
    if (places.size() < 2) return false;
    const Place a = Any(places), b = Any(places);
    SetSlot(step, a.number, b.slot);
    SetSlot(step, b.number, a.slot);
    return a.slot != b.slot;
  }
  // Replaces every use of one buffer with the other.
  bool MergeBuffers() {
    const Slot from = AnySlot(), to = SlotLike(from);
    if (from == to) return false;
    const auto change = [&](int32_t& slot) {
      if (slot == from) slot = to;
    };
    for (Step* step : steps_) {
      plan::VisitSlots(*step, [&](int32_t& slot, bool) { change(slot); });
      if (auto* tiles = std::get_if<plan::TileStep>(&step->what)) {
        change(tiles->updated);
        change(tiles->result);
      }
    }
    for (std::vector<Move>* moves : moves_) {
      for (Move& move : *moves) {
        change(move.to);
        change(move.from);
      }
    }
    for (Slot* slot : control_) change(*slot);
    for (Slot* slot : states_) change(*slot);
    for (Slot& slot : plan_.results) change(slot);
    return true;
  }
  bool MoveBuffer() {
    Buffer& buffer = plan_.buffers[AnySlot()];
    if (buffer.kind != Buffer::Kind::kArena || buffer.byte_count == 0) return false;
    const int64_t room = plan_.arena_bytes - buffer.byte_count;
    const int64_t offset = room < 64 ? 0 : static_cast<int64_t>(Below(room / 64 + 1)) * 64;
    return std::exchange(buffer.offset, offset) != offset;
  }
  // Assigns the offset of one buffer to another, as if the first were dead.
  bool Overlap() {
    Buffer &a = plan_.buffers[AnySlot()], &b = plan_.buffers[AnySlot()];
    if (a.kind != Buffer::Kind::kArena || b.kind != Buffer::Kind::kArena || a.offset == b.offset)
      return false;
    if (b.offset + a.byte_count > plan_.arena_bytes) return false;
    a.offset = b.offset;
    return true;
  }

  std::vector<Move>* AnyMoves() {
    std::vector<std::vector<Move>*> filled;
    for (std::vector<Move>* moves : moves_) {
      if (!moves->empty()) filled.push_back(moves);
    }
    return filled.empty() ? nullptr : Any(filled);
  }
  bool DropMove() {
    std::vector<Move>* moves = AnyMoves();
    if (moves == nullptr) return false;
    moves->erase(moves->begin() + static_cast<int64_t>(Below(moves->size())));
    return true;
  }
  bool AddMove() {
    if (moves_.empty()) return false;
    const Slot to = AnySlot();
    Any(moves_)->push_back({to, SlotLike(to)});
    return true;
  }
  bool ToggleExchange() {
    std::vector<Move>* moves = AnyMoves();
    if (moves == nullptr) return false;
    Move& move = Any(*moves);
    move.swaps = !move.swaps;
    return true;
  }
  bool ChangeMove() {
    std::vector<Move>* moves = AnyMoves();
    if (moves == nullptr) return false;
    Move& move = Any(*moves);
    Slot& end = random_() % 2 == 0 ? move.from : move.to;
    const Slot other = SlotLike(end);
    return std::exchange(end, other) != other;
  }

  bool ChangePrograms(bool drop) {
    auto* tiles = std::get_if<plan::TileStep>(&Any(steps_)->what);
    if (tiles == nullptr || tiles->programs.size() < 2) return false;
    const size_t k = Below(tiles->programs.size() - 1);
    if (!drop) {
      std::swap(tiles->programs[k], tiles->programs[k + 1]);
      return true;
    }
    tiles->programs.erase(tiles->programs.begin() + static_cast<int64_t>(k));
    tiles->updated = tiles->result = plan::kNoValue;
    return true;
  }

  std::vector<Step>* AnyList(size_t least) {
    std::vector<std::vector<Step>*> fitting;
    for (std::vector<Step>* list : lists_) {
      if (list->size() >= least) fitting.push_back(list);
    }
    return fitting.empty() ? nullptr : Any(fitting);
  }
  bool SwapSteps() {
    std::vector<Step>* list = AnyList(2);
    if (list == nullptr) return false;
    const size_t a = Below(list->size() - 1),
                 b = random_() % 2 == 0 ? a + 1 : a + 1 + Below(list->size() - a - 1);
    std::swap((*list)[a], (*list)[b]);
    return true;
  }
  bool DropStep(bool repeat) {
    std::vector<Step>* list = AnyList(1);
    if (list == nullptr) return false;
    const auto at = static_cast<int64_t>(Below(list->size()));
    if (!repeat) {
      list->erase(list->begin() + at);
      return true;
    }
    const Step copy = (*list)[at];
    list->insert(list->begin() + at + 1 + static_cast<int64_t>(Below(list->size() - at)), copy);
    return true;
  }

  bool ChangeResult() {
    if (plan_.results.empty()) return false;
    Slot& result = Any(plan_.results);
    if (result < 0) return false;
    const Slot other = SlotLike(result);
    return std::exchange(result, other) != other;
  }
  bool TakeArgument() {
    const Slot result = AnySlot(), argument = SlotLike(result);
    if (plan_.buffers[argument].kind != Buffer::Kind::kParameter || !plan_.buffers[result].is_result ||
        plan_.buffers[result].donor == argument)
      return false;
    plan_.buffers[result].donor = argument;
    return true;
  }
  bool ChangeControl() {
    if (control_.empty()) return false;
    Slot& slot = *Any(control_);
    const Slot other = SlotLike(slot);
    return std::exchange(slot, other) != other;
  }

  std::mt19937_64& random_;
  Plan& plan_;
  std::vector<std::vector<Step>*> lists_;
  std::vector<Step*> steps_;
  std::vector<std::vector<Move>*> moves_;
  std::vector<Slot*> control_, states_;
};

}  // namespace

absl::Span<const std::string_view> MutationNames() { return kNames; }

bool Mutate(int kind, std::mt19937_64& random, Plan& plan) {
  return !plan.steps.empty() && !plan.buffers.empty() && Mutator(random, plan).Run(kind);
}

}  // namespace hlo::test
