#include "kernels/cpu/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <type_traits>

#include "absl/container/inlined_vector.h"
#include "kernels/cpu/tile_loops.h"

namespace hlo::cpu {
namespace {

// Below this comparing is faster than counting digits.
constexpr size_t kShort = 256;
constexpr int kDigitBits = 8;
constexpr size_t kBuckets = size_t{1} << kDigitBits;

template <class T>
uint64_t KeyOf(T value, bool total) {
  if constexpr (std::is_same_v<T, bool> || std::is_unsigned_v<T>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<U>(static_cast<U>(value) ^ (U{1} << (8 * sizeof(T) - 1)));
  } else {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
    if (!total && value == 0) value = 0;
    const auto bits = std::bit_cast<Bits>(value);
    return (bits & kSign) != 0 ? static_cast<Bits>(~bits) : bits | kSign;
  }
}

void Compare(absl::Span<const uint64_t> keys, absl::Span<uint32_t> order) {
  std::iota(order.begin(), order.end(), 0u);
  // Unlike a stable sort, it needs no memory of its own.
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
}

}  // namespace

bool MakeSortKeys(const SortOrder& order, int64_t n, const void* elements, uint64_t* keys) {
  return DispatchLane(order.lane, [&]<class T>() {
    if constexpr (std::is_arithmetic_v<T>) {
      const T* values = static_cast<const T*>(elements);
      // Inverted keys run the other way; equal ones stay as they stand.
      const uint64_t flip = order.descending ? ~uint64_t{0} >> (64 - 8 * sizeof(T)) : 0;
      bool all = true;
      for (int64_t i = 0; i < n; ++i) {
        if constexpr (std::is_floating_point_v<T>) all &= order.total || values[i] == values[i];
        keys[i] = KeyOf(values[i], order.total) ^ flip;
      }
      return all;
    } else {
      return false;
    }
  });
}

namespace {

// Sorts by the digits above bit `low` in which elements differ; `other` is as long. T is a key, or a key
// above its position.
template <class T, class Key>
void SortByDigits(KeptVector<T>& elements, KeptVector<T>& other, uint64_t differing, Key&& key_of) {
  constexpr int kDigits = 64 / kDigitBits;
  const size_t n = elements.size();
  std::array<std::array<uint32_t, kBuckets>, kDigits> counts;
  absl::InlinedVector<int, kDigits> digits;  // One in which no two keys differ sorts nothing.
  for (int d = 0; d < kDigits; ++d) {
    if ((differing >> (d * kDigitBits) & (kBuckets - 1)) == 0) continue;
    digits.push_back(d);
    counts[d].fill(0);
  }
  for (const T& element : elements) {
    for (int d : digits) ++counts[d][key_of(element) >> (d * kDigitBits) & (kBuckets - 1)];
  }
  other.resize(n);
  for (int d : digits) {
    std::array<uint32_t, kBuckets> next;
    uint32_t sum = 0;
    for (size_t b = 0; b < kBuckets; ++b) {
      next[b] = sum;
      sum += counts[d][b];
    }
    for (const T& element : elements)
      other[next[key_of(element) >> (d * kDigitBits) & (kBuckets - 1)]++] = element;
    std::swap(elements, other);
  }
}

}  // namespace

void StableOrder(absl::Span<uint64_t> keys, absl::Span<uint32_t> order, SortScratch& scratch) {
  const size_t n = keys.size();
  if (n < kShort) {
    Compare(keys, order);
    return;
  }
  uint64_t differing = 0;
  for (size_t i = 1; i < n; ++i) differing |= keys[i] ^ keys[0];
  if (differing >> 32 == 0) {  // Key and position in one word.
    scratch.words.resize(n);
    for (size_t i = 0; i < n; ++i) scratch.words[i] = keys[i] << 32 | i;
    SortByDigits(scratch.words, scratch.other_words, differing << 32, [](uint64_t word) { return word; });
    for (size_t i = 0; i < n; ++i) order[i] = static_cast<uint32_t>(scratch.words[i]);
    return;
  }
  scratch.pairs.resize(n);
  for (size_t i = 0; i < n; ++i) scratch.pairs[i] = {keys[i], static_cast<uint32_t>(i)};
  SortByDigits(scratch.pairs, scratch.other_pairs, differing,
               [](const KeyAndPlace& pair) { return pair.key; });
  for (size_t i = 0; i < n; ++i) order[i] = scratch.pairs[i].place;
}

KeptVector<uint32_t> FirstInOrder(absl::Span<uint64_t> keys, int64_t count, SortScratch& scratch) {
  const auto n = static_cast<int64_t>(keys.size());
  KeptVector<uint32_t> first;
  if (count * 8 >= n) {
    first.resize(n);
    StableOrder(keys, absl::MakeSpan(first), scratch);
    first.resize(count);
    return first;
  }
  if (count == 0) return first;
  // The worst of the best so far is at the front; of equals the later one is worse.
  const auto before = [](const KeyAndPlace& a, const KeyAndPlace& b) {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  };
  KeptVector<KeyAndPlace>& best = scratch.pairs;
  best.clear();
  for (int64_t i = 0; i < count; ++i) best.push_back({keys[i], static_cast<uint32_t>(i)});
  std::make_heap(best.begin(), best.end(), before);
  constexpr int64_t kBlock = 64;  // Most of them hold nothing that counts.
  for (int64_t begin = count; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    const uint64_t worst = best.front().key;
    uint64_t better = 0;
    for (int64_t i = begin; i < end; ++i) better |= keys[i] < worst ? 1 : 0;
    if (better == 0) continue;
    for (int64_t i = begin; i < end; ++i) {
      if (keys[i] >= best.front().key) continue;
      std::pop_heap(best.begin(), best.end(), before);
      best.back() = {keys[i], static_cast<uint32_t>(i)};
      std::push_heap(best.begin(), best.end(), before);
    }
  }
  std::sort_heap(best.begin(), best.end(), before);
  for (const KeyAndPlace& pair : best) first.push_back(pair.place);
  return first;
}

}  // namespace hlo::cpu
