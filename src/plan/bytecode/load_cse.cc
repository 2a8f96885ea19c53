#include "plan/bytecode/load_cse.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

constexpr int64_t kMaxBytes = 128;  // The limit for loads that stay available for later steps.

int64_t ByteCount(const LoadCse::Indices&) { return sizeof(int64_t); }
int64_t ByteCount(const LoadCse::MemoryRange& range) { return range.byte_count; }

}  // namespace

template <class Map>
LoadCse::Entry LoadCse::Find(Map& map, const typename Map::key_type& what) {
  if (!enabled_) return {frame_.AllocateTemporary(ByteCount(what)), true};
  const auto [entry, is_new] = map.try_emplace(what, 0);
  if (is_new) {
    entry->second = frame_.AllocateTemporary(ByteCount(what));
    frame_.Keep(entry->second);
  }
  if (!is_new && !changes_.Allow("load_cse")) return {frame_.AllocateTemporary(ByteCount(what)), true};
  return {entry->second, is_new};
}

LoadCse::Entry LoadCse::Address(const Indices& indices) { return Find(addresses_, indices); }
LoadCse::Entry LoadCse::Load(const MemoryRange& range) { return Find(loads_, range); }

template <class Map, class Where>
void LoadCse::Invalidate(Map& map, Where&& where) {
  absl::erase_if(map, [&](const auto& each) {
    if (!where(each)) return false;
    frame_.Release(ByteCount(each.first), each.second);
    return true;
  });
}

void LoadCse::InvalidateLoads(Slot slot) {
  Invalidate(loads_, [&](const auto& load) { return load.first.slot == slot; });
}

void LoadCse::InvalidateWrites(const Step& step) {
  absl::flat_hash_set<Slot> written;
  VisitSlots(step, [&](const Slot& slot, bool is_write) {
    if (is_write) written.insert(slot);
  });
  int64_t bytes = 0;
  for (const auto& [range, offset] : loads_) bytes += range.byte_count;
  absl::flat_hash_set<cpu::FrameOffset> forgotten;
  Invalidate(addresses_, [&](const auto& address) {
    const bool changes = std::any_of(address.first.begin(), address.first.end(),
                                     [&](const auto& index) { return written.contains(std::get<0>(index)); });
    if (changes) forgotten.insert(address.second);
    return changes;
  });
  Invalidate(loads_, [&](const auto& load) {
    return bytes > kMaxBytes || written.contains(load.first.slot) || forgotten.contains(load.first.address);
  });
}

void LoadCse::InvalidateAll() {
  Invalidate(addresses_, [](const auto&) { return true; });
  Invalidate(loads_, [](const auto&) { return true; });
}

}  // namespace hlo::plan
