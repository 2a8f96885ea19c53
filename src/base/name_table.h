#pragma once
// A hash table from names to small values whose lookups take a few nanoseconds. The names are views that must
// outlive the table. The hash is seeded per process, so that no input can force collisions.

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

namespace hlo {

inline uint64_t HashName(std::string_view name) {
  static const uint64_t seed = (uint64_t{std::random_device{}()} << 32 | std::random_device{}()) | 1;
  auto mix = [](uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  auto load = [](const char* from, size_t byte_count) {
    uint64_t word = 0;
    std::memcpy(&word, from, byte_count);
    return word;
  };
  const char* p = name.data();
  const size_t size = name.size();
  uint64_t hash = seed ^ size * kOdd;
  uint64_t rest = 0;
  if (size >= 8) {
    const char* const last = p + size - 8;
    for (; p < last; p += 8) hash = mix(hash ^ load(p, 8), seed ^ kOdd);
    rest = load(last, 8);
  } else if (size >= 4) {
    rest = load(p, 4) << 32 | load(p + size - 4, 4);
  } else if (size > 0) {
    rest = load(p, 1) << 16 | load(p + size / 2, 1) << 8 | load(p + size - 1, 1);
  }
  return mix(hash ^ rest, kOdd);
}

template <class V>
class NameTable {
 public:
  // Returns nullptr if the name is absent. The pointer is valid until the next insertion.
  V* Find(std::string_view name) {
    if (count_ == 0) return nullptr;
    Slot& slot = slots_[SlotOf(name, HashName(name))];
    return slot.generation == generation_ ? &slot.value : nullptr;
  }
  bool Contains(std::string_view name) { return Find(name) != nullptr; }

  // Returns the value of the name and true if it was inserted; an existing value is kept.
  std::pair<V*, bool> Insert(std::string_view name, V value) {
    if ((count_ + 1) * 4 > slots_.size() * 3) Grow();
    const uint64_t hash = HashName(name);
    Slot& slot = slots_[SlotOf(name, hash)];
    if (slot.generation == generation_) return {&slot.value, false};
    slot = {static_cast<uint32_t>(hash), generation_, name, std::move(value)};
    ++count_;
    return {&slot.value, true};
  }

  // Removes all names in constant time and keeps the memory.
  void Clear() {
    count_ = 0;
    ++generation_;
  }
  size_t size() const { return count_; }

  template <class F>
  void ForEach(F&& f) const {
    for (const Slot& slot : slots_) {
      if (slot.generation == generation_) f(slot.name, slot.value);
    }
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t generation = 0;  // The slot is in use if this equals the table's generation.
    std::string_view name;
    V value{};
  };

  size_t SlotOf(std::string_view name, uint64_t hash) const {
    const size_t mask = slots_.size() - 1;
    for (size_t i = (hash >> 32) & mask;; i = (i + 1) & mask) {
      const Slot& slot = slots_[i];
      if (slot.generation != generation_) return i;
      if (slot.hash == static_cast<uint32_t>(hash) && slot.name == name) return i;
    }
  }

  void Grow() {
    std::vector<Slot> old = std::move(slots_);
    const uint32_t old_generation = generation_;
    slots_ = std::vector<Slot>(old.empty() ? 16 : old.size() * 2);
    generation_ = 1;
    for (Slot& slot : old) {
      if (slot.generation != old_generation) continue;
      Slot& target = slots_[SlotOf(slot.name, HashName(slot.name))];
      target = std::move(slot);
      target.generation = generation_;
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
  uint32_t generation_ = 1;
};

}  // namespace hlo
