#include "kernels/cpu/sort.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

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

using Buckets = std::array<uint32_t, kBuckets>;

// From how many elements of each piece fall into each bucket to where the first of them goes.
void CountsToPlaces(absl::Span<Buckets> pieces) {
  uint32_t sum = 0;
  for (size_t b = 0; b < kBuckets; ++b) {
    for (Buckets& piece : pieces) sum += std::exchange(piece[b], sum);
  }
}

// Sorts by the digits in which elements differ; `other` is as long. T is a key above its position, or both.
template <class T, class Key>
void SortByDigits(KeptVector<T>& elements, KeptVector<T>& other, uint64_t differing, const Pieces& pieces,
                  Key&& key_of) {
  constexpr int kDigits = 64 / kDigitBits;
  absl::InlinedVector<int, kDigits> shifts;  // A digit in which no two keys differ sorts nothing.
  for (int shift = 0; shift < 64; shift += kDigitBits) {
    if ((differing >> shift & (kBuckets - 1)) != 0) shifts.push_back(shift);
  }
  const auto bucket = [&key_of](const T& element, int shift) {
    return key_of(element) >> shift & (kBuckets - 1);
  };
  // Of one piece all digits are counted at once: it keeps its elements.
  const bool is_cut = pieces.count() > 1;
  std::array<Buckets, kDigits> whole;
  KeptVector<Buckets> cut(is_cut ? pieces.count() : 0);
  if (!is_cut) {
    for (size_t k = 0; k < shifts.size(); ++k) whole[k].fill(0);
    for (const T& element : elements) {
      for (size_t k = 0; k < shifts.size(); ++k) ++whole[k][bucket(element, shifts[k])];
    }
  }
  other.resize(elements.size());
  const T* from = elements.data();
  T* to = other.data();
  for (size_t k = 0; k < shifts.size(); ++k) {
    const int shift = shifts[k];
    const absl::Span<Buckets> places = is_cut ? absl::MakeSpan(cut) : absl::MakeSpan(&whole[k], 1);
    if (is_cut) {
      pieces.ForEach(1, [=](int64_t p, int64_t begin, int64_t end) {
        Buckets count{};
        for (int64_t i = begin; i < end; ++i) ++count[bucket(from[i], shift)];
        places[p] = count;
      });
    }
    CountsToPlaces(places);
    pieces.ForEach(3, [=](int64_t p, int64_t begin, int64_t end) {
      Buckets next = places[p];
      for (int64_t i = begin; i < end; ++i) to[next[bucket(from[i], shift)]++] = from[i];
    });
    std::swap(elements, other);
    from = elements.data();
    to = other.data();
  }
}

// The bits in which keys differ from the first.
uint64_t DifferingBits(absl::Span<const uint64_t> keys, const Pieces& pieces) {
  std::atomic<uint64_t> all = 0;
  pieces.ForEach(0.5, [&](int64_t, int64_t begin, int64_t end) {
    uint64_t differing = 0;
    for (int64_t i = begin; i < end; ++i) differing |= keys[i] ^ keys[0];
    all |= differing;
  });
  return all;
}

}  // namespace

void StableOrder(absl::Span<uint64_t> keys, absl::Span<uint32_t> order, const Pieces& pieces,
                 SortScratch& scratch) {
  const size_t n = keys.size();
  if (n < kShort) {
    Compare(keys, order);
    return;
  }
  const uint64_t differing = DifferingBits(keys, pieces);
  if (differing >> 32 == 0) {  // Key and position in one word.
    scratch.words.resize(n);
    pieces.ForEach(1, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) scratch.words[i] = keys[i] << 32 | static_cast<uint64_t>(i);
    });
    SortByDigits(scratch.words, scratch.other_words, differing << 32, pieces,
                 [](uint64_t word) { return word; });
    pieces.ForEach(1, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) order[i] = static_cast<uint32_t>(scratch.words[i]);
    });
    return;
  }
  scratch.pairs.resize(n);
  pieces.ForEach(1, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) scratch.pairs[i] = {keys[i], static_cast<uint32_t>(i)};
  });
  SortByDigits(scratch.pairs, scratch.other_pairs, differing, pieces,
               [](const KeyAndPlace& pair) { return pair.key; });
  pieces.ForEach(1, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) order[i] = scratch.pairs[i].place;
  });
}

KeptVector<uint32_t> FirstInOrder(absl::Span<uint64_t> keys, int64_t count, SortScratch& scratch) {
  const auto n = static_cast<int64_t>(keys.size());
  KeptVector<uint32_t> first;
  if (count * 8 >= n) {
    first.resize(n);
    StableOrder(keys, absl::MakeSpan(first), Pieces(n, false), scratch);
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
