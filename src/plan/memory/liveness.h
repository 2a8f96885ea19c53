#pragma once
// From when to when is each value needed, and in which storage does it lie?

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace hlo::plan {

// Of a step in the order of execution; a loop has one before and one after its body.
using Position = int64_t;

// Memory of one value, or of several one after the other.
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

// The steps' values are still those of the graph.
class Liveness {
 public:
  struct ValueInfo {
    Position defined = -1, last_use = -1;
    Position last_inside =
        -1;             // The last use in the loop whose state it is: after that comes the next state.
    int32_t loop = -1;  // In which it is defined.
    int32_t storage = -1;
  };
  // Loops are numbered in the order in which they begin.
  struct LoopScope {
    int32_t parent = -1;
    Position begin = 0, end = 0;
  };

  explicit Liveness(Plan& plan);

  ValueId Real(ValueId v) const { return plan_.graph.Resolve(v); }
  const ValueInfo& value(ValueId v) const { return values_[Real(v)]; }
  const LoopScope& loop(int32_t id) const { return loops_[id]; }
  // Whether loop `outer` is `inner` or lies around it; -1: the whole module.
  bool Contains(int32_t outer, int32_t inner) const;
  // How often values that lie in the storage are used at positions from `since` on that are not in
  // (begin, end].
  int64_t UsesOutside(int32_t storage, Position since, Position begin, Position end) const;

  std::vector<Storage>& storages() { return storages_; }
  int32_t StorageOf(ValueId v) const;
  Storage& storage(ValueId v) { return storages_[StorageOf(v)]; }
  // From here on the value, and those that it shares with, lie in this storage.
  void Join(ValueId v, int32_t storage);

 private:
  struct UseOf {
    ValueId value;
    Position position;
    int32_t loop;
  };

  void Define(ValueId v, int32_t loop);
  void Use(ValueId v, int32_t loop);
  void Number(std::vector<Step>& steps, int32_t loop);
  void MakeStorages();

  const Plan& plan_;
  std::vector<ValueInfo> values_;
  std::vector<UseOf> uses_;
  std::vector<LoopScope> loops_;
  std::vector<Storage> storages_;
  Position position_ = 0;
};

}  // namespace hlo::plan
