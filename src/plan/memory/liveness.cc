#include "plan/memory/liveness.h"

#include <algorithm>

#include "plan/visit.h"

namespace hlo::plan {

Liveness::Liveness(Plan& plan) : plan_(plan), values_(plan.graph.values.size()) {
  NumberSteps(plan.steps, -1);
  ++position_;
  for (ValueId v : plan.graph.results) Use(v, -1);
  MakeStorages();
}

void Liveness::Define(ValueId v, int32_t loop) {
  if (v == kNoValue) return;
  ValueInfo& info = values_[Resolve(v)];
  if (info.defined >= 0) return;
  info.defined = position_;
  info.loop = loop;
}
// A use in a loop keeps a value that is defined outside live until the loop ends.
void Liveness::Use(ValueId v, int32_t loop) {
  if (v == kNoValue) return;
  uses_.push_back({Resolve(v), position_, loop});
}

bool Liveness::Contains(int32_t outer, int32_t inner) const {
  for (; inner != -1; inner = loops_[inner].parent) {
    if (inner == outer) return true;
  }
  return outer == -1;
}

void Liveness::NumberSteps(std::vector<Step>& steps, int32_t loop) {
  for (Step& step : steps) {
    ++position_;
    if (auto* l = std::get_if<LoopStep>(&step.what)) {
      const auto id = static_cast<int32_t>(loops_.size());
      loops_.push_back({loop, position_, 0});
      for (const Move& move : l->initial) Use(move.from, loop);
      for (const Move& move : l->initial) Define(move.to, id);
      NumberSteps(l->condition, id);
      if (l->counted.has_value()) Use(l->counted->limit, id);
      ++position_;
      Use(l->predicate, id);
      // If the loop ends here, the states are its results: no step of the condition may overwrite them.
      for (const Move& move : l->next) Use(move.to, id);
      NumberSteps(l->body, id);
      ++position_;
      for (const Move& move : l->next) Use(move.from, id);
      loops_[id].end = ++position_;
    } else if (auto* b = std::get_if<BranchStep>(&step.what)) {
      Use(b->choice, loop);
      for (const Move& move : b->branches[0].results) Define(move.to, loop);
      for (BranchStep::Branch& branch : b->branches) {
        NumberSteps(branch.steps, loop);
        ++position_;
        for (const Move& move : branch.results) {
          Use(move.from, loop);
          if (move.to != kNoValue) values_[Resolve(move.to)].last_write = position_;
        }
      }
    } else {
      VisitSlots(step, [&](int32_t& v, bool is_write) { is_write ? Define(v, loop) : Use(v, loop); });
    }
  }
}

void Liveness::MakeStorages() {
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
    if (value.replaced_by != kNoValue) continue;
    const bool given = value.parameter >= 0 || value.constant != nullptr;
    if (info.defined < 0 && (!given || info.last_use < 0)) continue;
    info.storage = static_cast<int32_t>(storages_.size());
    storages_.push_back({static_cast<ValueId>(v), info.defined,
                         std::max({info.defined, info.last_use, info.last_write}), info.last_use,
                         *DenseByteCount(value.shape), !given && !value.is_dynamic});
  }
}

int32_t Liveness::StorageOf(ValueId v) const {
  int32_t s = values_[Resolve(v)].storage;
  while (storages_[s].merged_into != -1) s = storages_[s].merged_into;
  return s;
}

void Liveness::Merge(ValueId v, int32_t storage) {
  const int32_t own = StorageOf(v);
  if (own == storage) return;
  Storage& to = storages_[storage];
  const Storage& from = storages_[own];
  to.begin = std::min(to.begin, from.begin);
  to.end = std::max(to.end, from.end);
  to.last_use = from.last_use;
  to.swapped |= from.swapped;
  storages_[own].merged_into = storage;
}

int64_t Liveness::UsesOutside(int32_t storage, Position since, Position begin, Position end) const {
  return std::count_if(uses_.begin(), uses_.end(), [&](const UseOf& use) {
    return use.position >= since && !(use.position > begin && use.position <= end) &&
           StorageOf(use.value) == storage;
  });
}

}  // namespace hlo::plan
