#pragma once
// Liveness: the live range and the storage of every value.

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace hlo::plan {

// The position of a step in execution order; a loop has one before and one after its body.
using Position = int64_t;

// The memory of one value, or of several with disjoint live ranges.
struct Storage {
  ValueId first;
  Position begin, end;  // Inclusive.
  Position last_use;    // The last use of the value that currently occupies it.
  int64_t byte_count;
  bool is_arena;
  bool swapped = false;
  int32_t merged_into = -1;
  Slot slot = -1;
};

// Computed while slots are still value numbers.
class Liveness {
 public:
  struct ValueInfo {
    Position defined = -1, last_use = -1;
    // For loop-carried values: the last use in an iteration before the next value.
    Position last_inside = -1;
    Position last_write = -1;  // For results of conditionals: the end of the last branch.
    int32_t loop = -1;         // The loop that defines it.
    int32_t storage = -1;
  };
  // Loops are numbered in program order.
  struct LoopScope {
    int32_t parent = -1;
    Position begin = 0, end = 0;
  };

  explicit Liveness(Plan& plan);

  ValueId Resolve(ValueId v) const { return plan_.graph.Resolve(v); }
  const ValueInfo& value(ValueId v) const { return values_[Resolve(v)]; }
  const LoopScope& loop(int32_t id) const { return loops_[id]; }
  // True if loop `outer` is `inner` or encloses it; -1: the whole module.
  bool Contains(int32_t outer, int32_t inner) const;
  // Returns the number of uses of the storage at positions from `since` on that are not in (begin, end].
  int64_t UsesOutside(int32_t storage, Position since, Position begin, Position end) const;

  std::vector<Storage>& storages() { return storages_; }
  int32_t StorageOf(ValueId v) const;
  Storage& storage(ValueId v) { return storages_[StorageOf(v)]; }
  // Merges the storage of the value into `storage`.
  void Merge(ValueId v, int32_t storage);

 private:
  struct UseOf {
    ValueId value;
    Position position;
    int32_t loop;
  };

  void Define(ValueId v, int32_t loop);
  void Use(ValueId v, int32_t loop);
  void NumberSteps(std::vector<Step>& steps, int32_t loop);
  void MakeStorages();

  const Plan& plan_;
  std::vector<ValueInfo> values_;
  std::vector<UseOf> uses_;
  std::vector<LoopScope> loops_;
  std::vector<Storage> storages_;
  Position position_ = 0;
};

}  // namespace hlo::plan
