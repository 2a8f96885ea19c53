#include "plan/buffers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "plan/modes.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

using Position =
    int64_t;  // Of a step in the order of execution; a loop has one before and one after its body.

constexpr int64_t kAlignment = 64;

struct LoopScope {
  int32_t parent = -1;
  Position begin = 0, end = 0;
};

class Assigner {
 public:
  explicit Assigner(Plan& plan) : plan_(plan), values_(plan.graph.values.size()) {}

  void Run() {
    Number(plan_.steps, -1);
    ++position_;
    for (ValueId v : plan_.graph.results) Use(v, -1);
    MakeStorages();
    position_ = 0;
    next_loop_ = 0;
    Share(plan_.steps);
    MergeExchanged();
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
  struct ValueInfo {
    Position defined = -1, last_use = -1;
    Position last_inside =
        -1;             // The last use in the loop whose state it is: after that comes the next state.
    int32_t loop = -1;  // In which it is defined.
    int32_t storage = -1;
  };
  struct Storage {
    ValueId first;
    Position begin, end;  // Inclusive.
    Position last_use;    // Of the values that share it, in straight order.
    int64_t byte_count;
    bool is_arena;
    bool exchanged = false;
    int32_t same_as = -1;
    Slot slot = -1;
  };

  ValueId Real(ValueId v) const { return plan_.graph.Resolve(v); }
  const Shape& ShapeOf(ValueId v) const { return plan_.graph.values[v].shape; }

  // --- Positions: the same walk three times.

  void Define(ValueId v, int32_t loop) {
    if (v == kNoValue) return;
    ValueInfo& info = values_[Real(v)];
    if (info.defined >= 0) return;
    info.defined = position_;
    info.loop = loop;
  }
  // A use inside a loop of what is defined outside is one until the loop has ended.
  void Use(ValueId v, int32_t loop) {
    if (v == kNoValue) return;
    uses_.push_back({Real(v), position_, loop});
  }
  bool Contains(int32_t outer, int32_t inner) const {
    for (; inner != -1; inner = loops_[inner].parent) {
      if (inner == outer) return true;
    }
    return outer == -1;
  }

  void Number(std::vector<Step>& steps, int32_t loop) {
    for (Step& step : steps) {
      ++position_;
      if (auto* l = std::get_if<LoopStep>(&step.what)) {
        const auto id = static_cast<int32_t>(loops_.size());
        loops_.push_back({loop, position_, 0});
        for (const Move& move : l->initial) Use(move.from, loop);
        for (const Move& move : l->initial) Define(move.to, id);
        Number(l->condition, id);
        if (l->counted.has_value()) Use(l->counted->limit, id);
        ++position_;
        Use(l->predicate, id);
        Number(l->body, id);
        ++position_;
        for (const Move& move : l->next) Use(move.from, id);
        loops_[id].end = ++position_;
      } else if (auto* b = std::get_if<BranchStep>(&step.what)) {
        Use(b->choice, loop);
        for (const Move& move : b->branches[0].results) Define(move.to, loop);
        for (BranchStep::Branch& branch : b->branches) {
          Number(branch.steps, loop);
          ++position_;
          for (const Move& move : branch.results) Use(move.from, loop);
        }
      } else {
        VisitSlots(step, [&](int32_t& v, bool is_write) { is_write ? Define(v, loop) : Use(v, loop); });
      }
    }
  }

  void MakeStorages() {
    for (const auto& use : uses_) {
      ValueInfo& info = values_[use.value];
      Position until = use.position;
      for (int32_t loop = use.loop; loop != -1 && !Contains(loop, info.loop); loop = loops_[loop].parent)
        until = loops_[loop].end;
      info.last_use = std::max(info.last_use, until);
      if (Contains(info.loop, use.loop)) info.last_inside = std::max(info.last_inside, until);
    }
    for (size_t v = 0; v < values_.size(); ++v) {
      ValueInfo& info = values_[v];
      const Value& value = plan_.graph.values[v];
      if (value.same_as != kNoValue) continue;
      const bool given = value.parameter >= 0 || value.constant != nullptr;
      if (info.defined < 0 && (!given || info.last_use < 0)) continue;
      info.storage = static_cast<int32_t>(storages_.size());
      storages_.push_back({static_cast<ValueId>(v), info.defined, std::max(info.defined, info.last_use),
                           info.last_use, *DenseByteCount(value.shape), !given && !value.is_dynamic});
    }
  }

  int32_t StorageOf(ValueId v) const {
    int32_t s = values_[Real(v)].storage;
    while (storages_[s].same_as != -1) s = storages_[s].same_as;
    return s;
  }
  void Join(ValueId v, int32_t storage) {
    const int32_t own = StorageOf(v);
    if (own == storage) return;
    Storage& to = storages_[storage];
    const Storage& from = storages_[own];
    to.begin = std::min(to.begin, from.begin);
    to.end = std::max(to.end, from.end);
    to.last_use = from.last_use;
    to.exchanged |= from.exchanged;
    storages_[own].same_as = storage;
  }

  // --- Sharing

  void Share(std::vector<Step>& steps) {
    for (Step& step : steps) {
      ++position_;
      if (auto* loop = std::get_if<LoopStep>(&step.what))
        ShareLoop(*loop);
      else if (auto* branch = std::get_if<BranchStep>(&step.what))
        ShareBranch(*branch);
      else if (auto* tiles = std::get_if<TileStep>(&step.what))
        ShareTiles(step, *tiles);
      else if (auto* rows = std::get_if<RowsStep>(&step.what))
        ShareRows(*rows);
      else if (auto* kernel = std::get_if<KernelStep>(&step.what))
        ShareKernel(*kernel);
    }
  }

  bool DiesHere(int32_t storage) const {
    return storages_[storage].is_arena && storages_[storage].last_use == position_ &&
           CurrentModes().works_in_place;
  }
  // Whether `result` may lie where `operand` does, which nothing reads after this step. An argument's place
  // is known to be free only when the module runs.
  bool MayTake(int32_t storage, ValueId result) {
    if (DiesHere(storage)) return true;
    const Storage& s = storages_[storage];
    const Value& value = plan_.graph.values[s.first];
    if (value.parameter >= 0 && !value.is_dynamic && s.last_use == position_ && CurrentModes().works_in_place)
      takers_.emplace(storage, result);
    return false;
  }

  // Whether each position of a loop reads what it writes, and nothing else.
  bool SamePlace(const cpu::Access& load, const cpu::Access& store) const {
    return load.offset == store.offset && load.inner == store.inner && load.outer == store.outer &&
           ByteCount(load.type) == ByteCount(store.type) &&
           std::equal(load.starts.begin(), load.starts.end(), store.starts.begin(), store.starts.end(),
                      [&](const cpu::RuntimeStart& a, const cpu::RuntimeStart& b) {
                        return Real(a.argument) == Real(b.argument) && a.max == b.max && a.stride == b.stride;
                      });
  }

  void ShareTiles(Step& step, TileStep& tiles) {
    if (tiles.updated != kNoValue) {
      ShareUpdate(step, tiles);
      return;
    }
    if (tiles.programs.size() != 1) return;
    const cpu::Access* store = nullptr;
    int64_t store_count = 0;
    std::vector<const cpu::Access*> loads;
    absl::flat_hash_set<int32_t> starts;
    std::as_const(tiles.programs[0]).VisitAccesses([&](const cpu::Access& access, bool is_store) {
      for (const cpu::RuntimeStart& start : access.starts) starts.insert(StorageOf(start.argument));
      if (is_store) {
        store = &access;
        ++store_count;
      } else if (access.argument != cpu::Access::kIota) {
        loads.push_back(&access);
      }
    });
    // What one of several stores overwrites, another may still be computed from.
    if (store_count != 1) return;
    const int64_t byte_count = storages_[StorageOf(store->argument)].byte_count;
    for (const cpu::Access* load : loads) {
      const int32_t storage = StorageOf(load->argument);
      if (storages_[storage].byte_count != byte_count || starts.contains(storage)) continue;
      const bool fits = std::all_of(loads.begin(), loads.end(), [&](const cpu::Access* other) {
        return StorageOf(other->argument) != storage || SamePlace(*other, *store);
      });
      if (!fits || !MayTake(storage, store->argument)) continue;
      Join(store->argument, storage);
      return;
    }
  }

  void ShareUpdate(Step& step, TileStep& tiles) {
    const int32_t storage = StorageOf(tiles.updated);
    int64_t reads = 0;
    VisitSlots(step, [&](int32_t& v, bool is_write) { reads += !is_write && StorageOf(v) == storage; });
    int64_t harmless_reads = 1;  // The copy's.
    const cpu::TileProgram& window = tiles.programs[1];
    const cpu::Access* store = nullptr;
    window.VisitAccesses([&](const cpu::Access& access, bool is_store) {
      if (is_store) store = &access;
    });
    window.VisitAccesses([&](const cpu::Access& access, bool is_store) {
      if (!is_store && access.argument != cpu::Access::kIota && StorageOf(access.argument) == storage)
        harmless_reads += SamePlace(access, *store);
    });
    if (reads != harmless_reads || !MayTake(storage, tiles.result)) return;
    Join(tiles.result, storage);
    tiles.programs.erase(tiles.programs.begin());
    tiles.updated = tiles.result = kNoValue;
  }

  // Results that may take the place of what they update.
  void ShareKernel(const KernelStep& step) {
    for (int32_t k = 0; k < step.kernel.updated; ++k) {
      if (step.results[k] == kNoValue) continue;
      const int32_t storage = StorageOf(step.operands[k]);
      const auto reads = std::count_if(step.operands.begin(), step.operands.end(),
                                       [&](ValueId v) { return v != kNoValue && StorageOf(v) == storage; });
      if (reads == 1 && storages_[storage].byte_count == storages_[StorageOf(step.results[k])].byte_count &&
          MayTake(storage, step.results[k]))
        Join(step.results[k], storage);
    }
  }

  void ShareRows(const RowsStep& step) {
    absl::flat_hash_set<int32_t> placed;
    for (const RowsStep::Sharing& sharing : step.sharing) {
      const int32_t storage = StorageOf(step.operands[sharing.operand]);
      const ValueId result = step.results[sharing.result];
      const auto reads = std::count_if(step.operands.begin(), step.operands.end(),
                                       [&](ValueId v) { return StorageOf(v) == storage; });
      if (reads == 1 && !placed.contains(sharing.result) &&
          storages_[storage].byte_count == storages_[StorageOf(result)].byte_count &&
          MayTake(storage, result)) {
        placed.insert(sharing.result);
        Join(result, storage);
      }
    }
  }

  void ShareLoop(LoopStep& loop) {
    const int32_t id = next_loop_++;
    absl::flat_hash_set<int32_t> taken;
    std::vector<Move> initial;
    for (const Move& move : loop.initial) {
      const int32_t from = StorageOf(move.from);
      // Whoever reads it inside the loop needs it until the end.
      if (storages_[StorageOf(move.to)].is_arena && !taken.contains(from) && MayTake(from, move.to)) {
        taken.insert(from);
        Join(move.to, from);
        continue;
      }
      initial.push_back(move);
    }
    loop.initial = std::move(initial);
    for (const Move& move : loop.next)
      storages_[StorageOf(move.to)].last_use = values_[Real(move.to)].last_inside;
    Share(loop.condition);
    ++position_;
    Share(loop.body);
    ++position_;
    const LoopScope& scope = loops_[id];
    for (const Move& move : loop.next) {
      Storage& state = storages_[StorageOf(move.to)];
      state.begin = std::min(state.begin, scope.begin);
      state.end = std::max(state.end, scope.end);
    }
    std::vector<ValueId> states;
    for (const Move& move : loop.next) states.push_back(move.to);
    ShareMoves(loop.next, [&](ValueId from) { return Contains(id, values_[Real(from)].loop); });
    for (ValueId state : states) storages_[StorageOf(state)].last_use = values_[Real(state)].last_use;
    ++position_;
  }

  // Results of the branch that begins at `begin`, of the conditional at `conditional`, come to lie where the
  // branch computes them, or where a value lies that nothing else of the conditional needs.
  void JoinResults(const std::vector<Move>& results, Position conditional, Position begin) {
    absl::flat_hash_set<int32_t> taken;
    for (const Move& move : results) {
      const int32_t from = StorageOf(move.from), to = StorageOf(move.to);
      if (from == to || !DiesHere(from) || !storages_[to].is_arena || taken.contains(to) ||
          storages_[from].byte_count != storages_[to].byte_count || storages_[to].begin < conditional)
        continue;
      const bool inside = storages_[from].begin > begin;
      if (!inside && UsesSince(move.from, conditional) != 1) continue;
      if (std::count_if(results.begin(), results.end(),
                        [&](const Move& other) { return StorageOf(other.from) == from; }) != 1)
        continue;
      Join(move.to, from);
      taken.insert(from);
    }
  }
  int64_t UsesSince(ValueId v, Position position) const {
    return std::count_if(uses_.begin(), uses_.end(),
                         [&](const UseOf& use) { return use.value == Real(v) && use.position >= position; });
  }

  void ShareBranch(BranchStep& step) {
    const Position first = position_;
    for (BranchStep::Branch& branch : step.branches) {
      const Position begin = position_;
      Share(branch.steps);
      ++position_;
      JoinResults(branch.results, first, begin);
      ShareMoves(branch.results, [&](ValueId from) { return values_[Real(from)].defined > begin; });
    }
  }

  // Drops moves of a buffer to itself, and exchanges buffers where the source is not needed otherwise.
  template <class IsInside>
  void ShareMoves(std::vector<Move>& moves, IsInside&& is_inside) {
    absl::flat_hash_set<int32_t> targets, sources;
    for (const Move& move : moves) targets.insert(StorageOf(move.to));
    std::vector<Move> kept;
    for (Move move : moves) {
      const int32_t from = StorageOf(move.from), to = StorageOf(move.to);
      if (from == to) continue;
      const bool first = sources.insert(from).second;
      move.exchange = first && DiesHere(from) && !targets.contains(from) && is_inside(move.from) &&
                      storages_[to].is_arena && storages_[from].byte_count == storages_[to].byte_count;
      if (move.exchange) exchanged_.push_back({move.from, move.to});
      kept.push_back(move);
    }
    moves = std::move(kept);
  }

  // Buffers that change places must both be there as long as either is.
  void MergeExchanged() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [from, to] : exchanged_) {
        Storage &a = storages_[StorageOf(from)], &b = storages_[StorageOf(to)];
        a.exchanged = b.exchanged = true;
        const Position begin = std::min(a.begin, b.begin), end = std::max(a.end, b.end);
        changed |= a.begin != begin || b.begin != begin || a.end != end || b.end != end;
        a.begin = b.begin = begin;
        a.end = b.end = end;
      }
    }
  }

  // --- Memory

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
      for (const auto& [from, to] : exchanged_) {
        const int32_t a = StorageOf(from), b = StorageOf(to);
        if ((storages_[a].slot < 0) == (storages_[b].slot < 0)) continue;
        NewBuffer(storages_[a].slot < 0 ? a : b, Buffer::Kind::kOwn);
        changed = true;
      }
    }
  }

  // In the order in which they begin, each at the lowest place that is free.
  void PlaceArena() {
    std::vector<int32_t> order;
    for (size_t s = 0; s < storages_.size(); ++s) {
      Storage& storage = storages_[s];
      if (storage.same_as != -1 || storage.slot >= 0) continue;
      if (storage.is_arena) {
        order.push_back(static_cast<int32_t>(s));
      } else {
        const Value& value = plan_.graph.values[storage.first];
        NewBuffer(static_cast<int32_t>(s), value.is_dynamic            ? Buffer::Kind::kLiteral
                                           : value.constant != nullptr ? Buffer::Kind::kConstant
                                                                       : Buffer::Kind::kParameter);
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return storages_[a].begin < storages_[b].begin; });
    struct Taken {
      int64_t bytes;
      Position end;
    };
    std::map<int64_t, Taken> taken;         // By offset.
    std::multimap<Position, int64_t> ends;  // Offsets by when they fall free.
    for (int32_t s : order) {
      const Storage& storage = storages_[s];
      while (!ends.empty() && ends.begin()->first < storage.begin) {
        taken.erase(ends.begin()->second);
        ends.erase(ends.begin());
      }
      const int64_t bytes =
          std::max<int64_t>((storage.byte_count + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
      int64_t offset = 0;
      for (const auto& [at, other] : taken) {
        if (at - offset >= bytes) break;
        offset = at + other.bytes;
      }
      taken[offset] = {bytes, storage.end};
      ends.emplace(storage.end, offset);
      const Slot slot = NewBuffer(s, Buffer::Kind::kArena);
      plan_.buffers[slot].offset = offset;
      plan_.arena_bytes = std::max(plan_.arena_bytes, offset + bytes);
    }
  }

  // Results in place of arguments, where nothing lies in them before the argument was read for the last time.
  void PlaceTaken() {
    for (const auto& [argument, value] : takers_) {
      const Storage &from = storages_[argument], &to = storages_[StorageOf(value)];
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
      } else if (auto* branch = std::get_if<BranchStep>(&step.what)) {
        branch->choice = SlotOf(branch->choice);
        for (BranchStep::Branch& each : branch->branches) {
          Renumber(each.steps);
          RenumberMoves(each.results);
        }
      } else {
        VisitSlots(step, [&](int32_t& v, bool) { v = SlotOf(v); });
        auto* tiles = std::get_if<TileStep>(&step.what);
        if (tiles != nullptr && tiles->updated != kNoValue) {
          tiles->updated = SlotOf(tiles->updated);
          tiles->result = SlotOf(tiles->result);
        }
      }
    }
  }

  struct UseOf {
    ValueId value;
    Position position;
    int32_t loop;
  };

  Plan& plan_;
  std::vector<ValueInfo> values_;
  std::vector<UseOf> uses_;
  std::vector<LoopScope> loops_;
  std::vector<Storage> storages_;
  std::vector<std::pair<ValueId, ValueId>> exchanged_;
  std::map<int32_t, ValueId> takers_;  // Results by the storage of the argument whose place they may take.
  Position position_ = 0;
  int32_t next_loop_ = 0;
};

}  // namespace

void AssignBuffers(Plan& plan) { Assigner(plan).Run(); }

}  // namespace hlo::plan
