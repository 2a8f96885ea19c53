#include "plan/validate/memory_model.h"

#include <algorithm>
#include <numeric>

#include "fmt/format.h"
#include "plan/visit.h"

namespace hlo::plan {

MemoryModel::MemoryModel(const Plan& plan)
    : plan_(plan),
      roots_(plan.graph.values.size()),
      canonical_(plan.buffers.size()),
      values_(plan.buffers.size()),
      holders_(plan.graph.values.size()),
      class_of_(plan.buffers.size(), -1) {
  std::iota(canonical_.begin(), canonical_.end(), 0);
  for (size_t slot = 0; slot < canonical_.size(); ++slot) {
    const Slot taken = plan.buffers[slot].donor;
    if (taken < 0) continue;
    canonical_[slot] = taken;
    donations_[taken].push_back(static_cast<Slot>(slot));
  }
  VisitAllMoves(plan.steps, [&](const std::vector<Move>& moves) {
    for (const Move& move : moves) {
      if (move.swaps) Swap(move.to, move.from);
    }
  });
  absl::flat_hash_map<int32_t, std::vector<Slot>> of_parameter;
  absl::flat_hash_map<const Literal*, std::vector<Slot>> of_constant;
  for (size_t slot = 0; slot < plan.buffers.size(); ++slot) {
    const Buffer& buffer = plan.buffers[slot];
    const bool is_given = buffer.kind == Buffer::Kind::kParameter || buffer.kind == Buffer::Kind::kConstant ||
                          buffer.kind == Buffer::Kind::kLiteral;
    if (!is_given) continue;
    if (buffer.parameter >= 0) of_parameter[buffer.parameter].push_back(static_cast<Slot>(slot));
    if (buffer.constant != nullptr) of_constant[buffer.constant].push_back(static_cast<Slot>(slot));
  }
  std::iota(roots_.begin(), roots_.end(), 0);
  absl::flat_hash_map<int32_t, ValueId> parameter_roots;
  absl::flat_hash_map<const Literal*, ValueId> constant_roots;
  for (size_t v = 0; v < plan.graph.values.size(); ++v) {
    const Value& value = plan.graph.values[v];
    if (value.replaced_by != kNoValue) continue;
    const auto find_root = [&](auto& roots, const auto& slots, const auto& key) {
      const auto [root, is_first] = roots.try_emplace(key, static_cast<ValueId>(v));
      roots_[v] = root->second;
      const auto found = slots.find(key);
      if (!is_first || found == slots.end()) return;
      for (const Slot slot : found->second) Replace(slot, {root->second});
    };
    if (value.parameter >= 0)
      find_root(parameter_roots, of_parameter, value.parameter);
    else if (value.constant != nullptr)
      find_root(constant_roots, of_constant, value.constant);
  }
}

void MemoryModel::Swap(Slot a, Slot b) {
  for (const Slot slot : {a, b}) {
    if (class_of_[slot] >= 0) continue;
    class_of_[slot] = static_cast<int32_t>(classes_.size());
    classes_.push_back({slot});
  }
  const int32_t to = class_of_[a], from = class_of_[b];
  if (to == from) return;
  for (const Slot slot : classes_[from]) class_of_[slot] = to;
  classes_[to].insert(classes_[to].end(), classes_[from].begin(), classes_[from].end());
  classes_[from].clear();
}

absl::Status MemoryModel::CheckBuffers() const {
  for (size_t slot = 0; slot < plan_.buffers.size(); ++slot) {
    const Buffer& buffer = plan_.buffers[slot];
    if (buffer.donor >= 0) {
      const Buffer& taken = plan_.buffers[buffer.donor];
      if (buffer.kind != Buffer::Kind::kAllocated || taken.kind != Buffer::Kind::kParameter ||
          taken.byte_count != buffer.byte_count)
        return absl::InternalError(fmt::format("b{} cannot reuse the memory of b{}", slot, buffer.donor));
    }
    if (!IsInArena(static_cast<Slot>(slot))) continue;
    const Region region = RegionOf(static_cast<Slot>(slot));
    if (region.begin < 0 || region.end < region.begin || region.end > plan_.arena_bytes)
      return absl::InternalError(fmt::format("b{} is not within the arena", slot));
  }
  for (const std::vector<Slot>& members : classes_) {
    for (size_t i = 0; i < members.size(); ++i) {
      const Buffer& buffer = plan_.buffers[members[i]];
      const bool can_move =
          (buffer.kind == Buffer::Kind::kArena || buffer.kind == Buffer::Kind::kAllocated) &&
          buffer.donor < 0 && !buffer.is_result;
      if (!can_move)
        return absl::InternalError(fmt::format("b{} cannot be swapped with another buffer", members[i]));
      for (size_t j = 0; j < i; ++j) {
        const Buffer& other = plan_.buffers[members[j]];
        const Region a = RegionOf(members[i]), b = RegionOf(members[j]);
        const bool apart = buffer.kind == Buffer::Kind::kAllocated || a.end <= b.begin || b.end <= a.begin;
        if (buffer.kind != other.kind || buffer.byte_count != other.byte_count || !apart)
          return absl::InternalError(fmt::format("b{} and b{} cannot be swapped", members[j], members[i]));
      }
    }
  }
  return absl::OkStatus();
}

bool MemoryModel::Overlap(Slot a, Slot b) const {
  a = Canonical(a);
  b = Canonical(b);
  if (a == b) return true;
  if (!IsInArena(a) || !IsInArena(b)) return false;
  const auto regions = [&](Slot slot) {
    const int32_t c = class_of_[slot];
    return c < 0 ? std::vector<Slot>{slot} : classes_[c];
  };
  if (class_of_[a] >= 0 && class_of_[a] == class_of_[b]) return false;
  for (const Slot s : regions(a)) {
    for (const Slot t : regions(b)) {
      const Region left = RegionOf(s), right = RegionOf(t);
      if (left.begin < right.end && right.begin < left.end) return true;
    }
  }
  return false;
}

bool MemoryModel::Holds(Slot slot, ValueId value) const {
  const Values& values = ValuesAt(slot);
  return std::binary_search(values.begin(), values.end(), RootOf(value));
}

void MemoryModel::Replace(Slot slot, Values values) {
  if (values_[slot] == values) return;
  for (const ValueId v : values_[slot]) {
    auto& holders = holders_[v];
    holders.erase(std::find(holders.begin(), holders.end(), slot));
  }
  for (const ValueId v : values) holders_[v].push_back(slot);
  if (IsInArena(slot) && plan_.buffers[slot].byte_count > 0) {
    const int64_t begin = plan_.buffers[slot].offset;
    if (!values.empty())
      active_[begin] = slot;
    else if (const auto found = active_.find(begin); found != active_.end() && found->second == slot)
      active_.erase(found);
  }
  values_[slot] = std::move(values);
}

void MemoryModel::Set(Slot slot, const Values& values) {
  if (values_[slot] == values) return;
  journal_.emplace_back(slot, values_[slot]);
  Replace(slot, values);
}

void MemoryModel::Invalidate(Slot slot) {
  const int32_t c = class_of_[slot];
  if (c < 0) return Set(slot, {});
  // Any member of the class may be stored in this memory.
  for (const Slot member : classes_[c]) Set(member, {});
}

void MemoryModel::OverwriteRegion(Slot writer, Region region) {
  if (region.begin == region.end) return;
  const int32_t own = class_of_[writer];
  std::vector<Slot> hit;
  auto it = active_.lower_bound(region.begin);
  if (it != active_.begin() && RegionOf(std::prev(it)->second).end > region.begin) --it;
  for (; it != active_.end() && it->first < region.end; ++it) {
    if (it->second != writer && (own < 0 || class_of_[it->second] != own)) hit.push_back(it->second);
  }
  for (const Slot slot : hit) Invalidate(slot);
  // A member may be active elsewhere while its memory is stored here.
  for (size_t c = 0; c < classes_.size(); ++c) {
    if (static_cast<int32_t>(c) == own) continue;
    for (const Slot member : classes_[c]) {
      const Region other = RegionOf(member);
      if (IsInArena(member) && other.begin < region.end && region.begin < other.end) {
        Invalidate(member);
        break;
      }
    }
  }
}

void MemoryModel::Overwrite(Slot slot) {
  Set(slot, {});
  if (const auto found = donations_.find(canonical_[slot]); found != donations_.end()) {
    Set(canonical_[slot], {});
    for (const Slot result : found->second) Set(result, {});
  }
  if (!IsInArena(slot)) return;
  const int32_t c = class_of_[slot];
  if (c < 0) return OverwriteRegion(slot, RegionOf(slot));
  for (const Slot member : classes_[c]) OverwriteRegion(slot, RegionOf(member));
}

void MemoryModel::Add(Slot slot, ValueId value) {
  value = RootOf(value);
  Values values = ValuesAt(slot);
  const auto found = std::lower_bound(values.begin(), values.end(), value);
  if (found != values.end() && *found == value) return;
  values.insert(found, value);
  Set(slot, values);
}

void MemoryModel::RollBack(size_t mark) {
  while (journal_.size() > mark) {
    auto [slot, values] = std::move(journal_.back());
    journal_.pop_back();
    Replace(slot, std::move(values));
  }
}

std::vector<Slot> MemoryModel::ChangedSince(size_t mark) const {
  std::vector<Slot> slots;
  for (size_t i = mark; i < journal_.size(); ++i) slots.push_back(journal_[i].first);
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  return slots;
}

}  // namespace hlo::plan
