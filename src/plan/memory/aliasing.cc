#include "plan/memory/aliasing.h"

#include <algorithm>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

// Visits the steps in the order of Liveness.
class AliasAssigner {
 public:
  AliasAssigner(Plan& plan, Liveness& liveness, bool in_place, ChangeCounter& changes)
      : plan_(plan),
        liveness_(liveness),
        storages_(liveness.storages()),
        in_place_(in_place),
        changes_(changes) {}

  Aliasing Run() {
    AliasSteps(plan_.steps);
    MergeSwapped();
    return std::move(aliasing_);
  }

 private:
  ValueId Resolve(ValueId v) const { return liveness_.Resolve(v); }
  int32_t StorageOf(ValueId v) const { return liveness_.StorageOf(v); }

  void AliasSteps(std::vector<Step>& steps) {
    for (Step& step : steps) {
      ++position_;
      if (auto* loop = std::get_if<LoopStep>(&step.what))
        AliasLoop(*loop);
      else if (auto* branch = std::get_if<BranchStep>(&step.what))
        AliasBranch(*branch);
      else if (auto* tiles = std::get_if<TileStep>(&step.what))
        AliasTiles(step, *tiles);
      else if (auto* rows = std::get_if<RowsStep>(&step.what))
        AliasRows(*rows);
      else if (auto* kernel = std::get_if<KernelStep>(&step.what))
        AliasKernel(*kernel);
    }
  }

  // Counts an alias of the value.
  bool AllowChange(ValueId v) {
    const Node* node = plan_.graph.values[Resolve(v)].node;
    return changes_.Allow("in_place_aliasing", node == nullptr ? "" : node->instruction->name());
  }
  bool DiesHere(int32_t storage) const {
    return storages_[storage].is_arena && storages_[storage].last_use == position_ && in_place_;
  }
  // True if `result` can take the storage, which dies at this step. Whether an argument's memory may be
  // reused is known only when the module runs: it is recorded as a donation.
  bool CanReuse(int32_t storage, ValueId result) {
    if (DiesHere(storage)) return AllowChange(result);
    const Storage& s = storages_[storage];
    const Value& value = plan_.graph.values[s.first];
    if (value.parameter >= 0 && !value.is_dynamic && s.last_use == position_ && in_place_)
      aliasing_.donations.emplace(storage, result);
    return false;
  }

  // True if every position of a loop loads the element that it stores, and no other.
  bool IsSameElement(const loops::Access& load, const loops::Access& store) const {
    return load.IsRegular() && load.offset == store.offset && load.inner == store.inner &&
           load.outer == store.outer && ByteCount(load.type) == ByteCount(store.type) &&
           std::equal(load.starts.begin(), load.starts.end(), store.starts.begin(), store.starts.end(),
                      [&](const loops::RuntimeStart& a, const loops::RuntimeStart& b) {
                        return Resolve(a.argument) == Resolve(b.argument) && a.element == b.element &&
                               a.max == b.max && a.stride == b.stride;
                      });
  }

  void AliasTiles(Step& step, TileStep& tiles) {
    if (tiles.updated != kNoValue) {
      AliasUpdate(step, tiles);
      return;
    }
    if (tiles.programs.size() != 1) return;
    const loops::LoopProgram& program = tiles.programs[0];
    Loads loads;
    program.VisitAccesses([&](const loops::Access& access, bool is_store) {
      VisitOthers(access, [&](int32_t argument) { loads.others.insert(StorageOf(argument)); });
      if (!is_store && access.IsArray()) loads.arrays.push_back(&access);
    });
    // The stores that are written first can alias the fewest operands.
    std::vector<size_t> stores(program.stores().size());
    std::iota(stores.begin(), stores.end(), size_t{0});
    std::stable_sort(stores.begin(), stores.end(),
                     [&](size_t a, size_t b) { return program.StoredFrom(a) < program.StoredFrom(b); });
    for (const bool as_next_state : {true, false}) {
      std::erase_if(stores, [&](size_t k) { return AliasStore(program, k, as_next_state, loads); });
    }
  }

  // The arrays that a loop loads, and the storages that none of its stores may overwrite.
  struct Loads {
    std::vector<const loops::Access*> arrays;
    absl::flat_hash_set<int32_t> others;  // Storages that must not be overwritten.
  };

  // Returns true if the store now aliases an operand of the loop: the state whose next value it is, or
  // another one.
  bool AliasStore(const loops::LoopProgram& program, size_t k, bool as_next_state, Loads& loads) {
    const loops::Access& store = program.access(program.stores()[k].access);
    const auto state = next_states_.find(Resolve(store.argument));
    const bool is_next =
        state != next_states_.end() && storages_[StorageOf(store.argument)].byte_count > kMaxCopiedBytes;
    const int32_t own = is_next ? StorageOf(state->second) : -1;
    const int64_t byte_count = storages_[StorageOf(store.argument)].byte_count;
    if (byte_count <= kMaxCopiedBytes && (program.stores().size() > 1 || as_next_state)) return false;
    for (const loops::Access* load : loads.arrays) {
      const int32_t storage = StorageOf(load->argument);
      if (as_next_state != (storage == own) || (is_next && storage != own && HoldsState(storage))) continue;
      if (storages_[storage].byte_count != byte_count || loads.others.contains(storage)) continue;
      const auto is_same = [&](const loops::Access& other) { return StorageOf(other.argument) == storage; };
      const bool fits =
          absl::c_all_of(
              loads.arrays,
              [&](const loops::Access* other) { return !is_same(*other) || IsSameElement(*other, store); }) &&
          program.LastUse([&](const loops::Access& other) { return other.IsArray() && is_same(other); }) <=
              program.StoredFrom(k);
      if (!fits) continue;
      const bool joins = CanReuse(storage, store.argument);
      if (joins) liveness_.Merge(store.argument, storage);
      const auto taker = aliasing_.donations.find(storage);
      const bool takes = taker != aliasing_.donations.end() && taker->second == store.argument;
      // The only result of a loop may reuse any donated argument.
      if (!joins && (!takes || program.stores().size() == 1)) continue;
      loads.others.insert(storage);
      return true;
    }
    return false;
  }

  // True if an enclosing loop keeps a state in the storage.
  bool HoldsState(int32_t storage) const {
    return absl::c_any_of(next_states_, [&](const auto& next) { return StorageOf(next.second) == storage; });
  }

  void AliasUpdate(Step& step, TileStep& tiles) {
    const int32_t storage = StorageOf(tiles.updated);
    int64_t reads = 0;
    VisitSlots(step, [&](int32_t& v, bool is_write) { reads += !is_write && StorageOf(v) == storage; });
    int64_t safe_reads = 1;  // The copy reads it once.
    const loops::LoopProgram& window = tiles.programs[1];
    const loops::Access* store = nullptr;
    window.VisitAccesses([&](const loops::Access& access, bool is_store) {
      if (is_store && access.argument == tiles.result) store = &access;
    });
    window.VisitAccesses([&](const loops::Access& access, bool is_store) {
      if (!is_store && access.IsArray() && StorageOf(access.argument) == storage)
        safe_reads += IsSameElement(access, *store);
    });
    if (reads != safe_reads || !CanReuse(storage, tiles.result)) return;
    liveness_.Merge(tiles.result, storage);
    tiles.programs.erase(tiles.programs.begin());
    tiles.updated = tiles.result = kNoValue;
  }

  // Aliases results of kernels with the operands that they update.
  void AliasKernel(const KernelStep& step) {
    for (int32_t k = 0; k < step.kernel.in_place_results; ++k) {
      if (step.results[k] == kNoValue) continue;
      const int32_t storage = StorageOf(step.operands[k]);
      const auto reads = std::count_if(step.operands.begin(), step.operands.end(),
                                       [&](ValueId v) { return v != kNoValue && StorageOf(v) == storage; });
      if (reads == 1 && storages_[storage].byte_count == storages_[StorageOf(step.results[k])].byte_count &&
          CanReuse(storage, step.results[k]))
        liveness_.Merge(step.results[k], storage);
    }
  }

  void AliasRows(const RowsStep& step) {
    absl::flat_hash_set<int32_t> aliased;
    for (const RowsStep::Alias& alias : step.aliases) {
      const int32_t storage = StorageOf(step.operands[alias.operand]);
      const ValueId result = step.results[alias.result];
      const auto reads = std::count_if(step.operands.begin(), step.operands.end(),
                                       [&](ValueId v) { return StorageOf(v) == storage; });
      if (reads == 1 && !aliased.contains(alias.result) &&
          storages_[storage].byte_count == storages_[StorageOf(result)].byte_count &&
          CanReuse(storage, result)) {
        aliased.insert(alias.result);
        liveness_.Merge(result, storage);
      }
    }
  }

  void AliasLoop(LoopStep& loop) {
    const int32_t id = next_loop_++;
    absl::flat_hash_set<int32_t> taken;
    std::vector<Move> initial;
    for (const Move& move : loop.initial) {
      const int32_t from = StorageOf(move.from);
      // Readers of the initial value inside the loop keep it live until the end of the loop.
      if (liveness_.storage(move.to).is_arena && !taken.contains(from) && CanReuse(from, move.to)) {
        taken.insert(from);
        liveness_.Merge(move.to, from);
        continue;
      }
      initial.push_back(move);
    }
    loop.initial = std::move(initial);
    for (const Move& move : loop.next)
      liveness_.storage(move.to).last_use = liveness_.value(move.to).last_inside;
    for (const Move& move : loop.next) next_states_.emplace(Resolve(move.from), Resolve(move.to));
    AliasSteps(loop.condition);
    ++position_;
    AliasSteps(loop.body);
    for (const Move& move : loop.next) next_states_.erase(Resolve(move.from));
    ++position_;
    const Liveness::LoopScope& scope = liveness_.loop(id);
    for (const Move& move : loop.next) {
      Storage& state = liveness_.storage(move.to);
      state.begin = std::min(state.begin, scope.begin);
      state.end = std::max(state.end, scope.end);
    }
    std::vector<ValueId> states;
    for (const Move& move : loop.next) states.push_back(move.to);
    SimplifyMoves(loop.next,
                  [&](ValueId from) { return liveness_.Contains(id, liveness_.value(from).loop); });
    for (ValueId state : states) liveness_.storage(state).last_use = liveness_.value(state).last_use;
    ++position_;
  }

  // Lets results of the branch that begins at `begin` share the storage of the values that the branch
  // computes, or of values that no other branch reads.
  void AliasResults(const std::vector<Move>& results, Position conditional, Position begin) {
    absl::flat_hash_set<int32_t> taken;
    for (const Move& move : results) {
      const int32_t from = StorageOf(move.from), to = StorageOf(move.to);
      if (from == to || !DiesHere(from) || !storages_[to].is_arena || taken.contains(to) ||
          storages_[from].byte_count != storages_[to].byte_count)
        continue;
      const bool inside = storages_[from].begin > begin;
      // If an earlier branch has aliased the result, no other branch may read the source's storage.
      if (!inside && (storages_[to].begin < conditional ||
                      liveness_.UsesOutside(from, storages_[to].begin, begin, position_) != 0))
        continue;
      if (std::count_if(results.begin(), results.end(),
                        [&](const Move& other) { return StorageOf(other.from) == from; }) != 1)
        continue;
      if (!AllowChange(move.to)) continue;
      liveness_.Merge(move.to, from);
      taken.insert(from);
    }
  }

  void AliasBranch(BranchStep& step) {
    const Position first = position_;
    for (BranchStep::Branch& branch : step.branches) {
      const Position begin = position_;
      AliasSteps(branch.steps);
      ++position_;
      AliasResults(branch.results, first, begin);
      SimplifyMoves(branch.results, [&](ValueId from) { return liveness_.value(from).defined > begin; });
    }
  }

  // Removes moves of a buffer to itself, and turns copies of dead sources into swaps.
  template <class IsInside>
  void SimplifyMoves(std::vector<Move>& moves, IsInside&& is_inside) {
    absl::flat_hash_set<int32_t> targets, sources;
    for (const Move& move : moves) targets.insert(StorageOf(move.to));
    std::vector<Move> kept;
    for (Move move : moves) {
      const int32_t from = StorageOf(move.from), to = StorageOf(move.to);
      if (from == to) continue;
      const bool first = sources.insert(from).second;
      move.swaps = first && DiesHere(from) && !targets.contains(from) && is_inside(move.from) &&
                   storages_[to].is_arena && storages_[from].byte_count == storages_[to].byte_count &&
                   AllowChange(move.to);
      if (move.swaps) aliasing_.swapped.push_back({move.from, move.to});
      kept.push_back(move);
    }
    moves = std::move(kept);
  }

  // Swapped buffers must both be live as long as either is.
  void MergeSwapped() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [from, to] : aliasing_.swapped) {
        Storage &a = storages_[StorageOf(from)], &b = storages_[StorageOf(to)];
        a.swapped = b.swapped = true;
        const Position begin = std::min(a.begin, b.begin), end = std::max(a.end, b.end);
        changed |= a.begin != begin || b.begin != begin || a.end != end || b.end != end;
        a.begin = b.begin = begin;
        a.end = b.end = end;
      }
    }
  }

  Plan& plan_;
  Liveness& liveness_;
  std::vector<Storage>& storages_;
  const bool in_place_;
  ChangeCounter& changes_;
  Aliasing aliasing_;
  absl::flat_hash_map<ValueId, ValueId>
      next_states_;  // The states of the enclosing loops, keyed by their next values.
  Position position_ = 0;
  int32_t next_loop_ = 0;
};

}  // namespace

Aliasing AliasStorages(Plan& plan, Liveness& liveness, bool in_place, ChangeCounter& changes) {
  return AliasAssigner(plan, liveness, in_place, changes).Run();
}

}  // namespace hlo::plan
