#include "kernels/cpu/sort/sort.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "kernels/cpu/elementwise/tile_loops.h"

namespace hlo::cpu {
namespace {

// Shorter lines are sorted by comparison, which is faster than radix sort.
constexpr int64_t kShort = 256;
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

}  // namespace

bool MakeSortKeys(const SortOrder& order, int64_t n, const void* elements, uint64_t* keys) {
  return DispatchLane(order.lane, [&]<class T>() {
    if constexpr (std::is_arithmetic_v<T>) {
      const T* values = static_cast<const T*>(elements);
      // Inverted keys sort in descending order; equal ones keep their order.
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

// Replaces the histograms of the chunks by the offsets of their buckets (an exclusive prefix sum).
void CountsToPlaces(absl::Span<Buckets> chunks) {
  uint32_t sum = 0;
  for (size_t b = 0; b < kBuckets; ++b) {
    for (Buckets& chunk : chunks) sum += std::exchange(chunk[b], sum);
  }
}

// Sorts by the digits in which keys differ, alternating between `from` and `to`, and returns the buffer with
// the result. T contains a key and its position.
template <class T, class Key>
T* SortByDigits(int64_t n, T* from, T* to, uint64_t differing, const LineChunks& chunks, Key&& key_of) {
  constexpr int kDigits = 64 / kDigitBits;
  absl::InlinedVector<int, kDigits> shifts;  // Digits that are equal in all keys are skipped.
  for (int shift = 0; shift < 64; shift += kDigitBits) {
    if ((differing >> shift & (kBuckets - 1)) != 0) shifts.push_back(shift);
  }
  const auto bucket = [&key_of](const T& element, int shift) {
    return key_of(element) >> shift & (kBuckets - 1);
  };
  // A single chunk keeps its elements, so that all histograms are computed in one pass.
  const bool is_split = chunks.count() > 1;
  std::array<Buckets, kDigits> whole;
  CachedVector<Buckets> cut(is_split ? chunks.count() : 0);
  if (!is_split) {
    for (size_t k = 0; k < shifts.size(); ++k) whole[k].fill(0);
    for (int64_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < shifts.size(); ++k) ++whole[k][bucket(from[i], shifts[k])];
    }
  }
  for (size_t k = 0; k < shifts.size(); ++k) {
    const int shift = shifts[k];
    const absl::Span<Buckets> places = is_split ? absl::MakeSpan(cut) : absl::MakeSpan(&whole[k], 1);
    if (is_split) {
      chunks.ForEach(1, [=](int64_t p, int64_t begin, int64_t end) {
        Buckets count{};
        for (int64_t i = begin; i < end; ++i) ++count[bucket(from[i], shift)];
        places[p] = count;
      });
    }
    CountsToPlaces(places);
    chunks.ForEach(3, [=](int64_t p, int64_t begin, int64_t end) {
      Buckets next = places[p];
      for (int64_t i = begin; i < end; ++i) to[next[bucket(from[i], shift)]++] = from[i];
    });
    std::swap(from, to);
  }
  return from;
}

// Calls visit(position, key) for [begin, end), with keys read in blocks.
template <class Visit>
void EachKey(ReadKeys read, int64_t begin, int64_t end, Visit&& visit) {
  uint64_t keys[kKeyBlock];
  for (; begin < end; begin += kKeyBlock) {
    const int64_t n = std::min(kKeyBlock, end - begin);
    read(begin, n, keys);
    for (int64_t i = 0; i < n; ++i) visit(begin + i, keys[i]);
  }
}

// Returns the bits in which keys differ from the first one.
uint64_t DifferingBits(ReadKeys read, const LineChunks& chunks) {
  uint64_t first;
  read(0, 1, &first);
  std::atomic<uint64_t> all = 0;
  chunks.ForEach(1, [&](int64_t, int64_t begin, int64_t end) {
    uint64_t differing = 0;
    EachKey(read, begin, end, [&](int64_t, uint64_t key) { differing |= key ^ first; });
    all |= differing;
  });
  return all;
}

// Sorts elements that make(key, position) packs; place_of(T) unpacks the position.
template <class T, class Make, class Key, class Place>
absl::Span<const uint32_t> OrderOf(int64_t n, int key_shift, ReadKeys read, const LineChunks& chunks,
                                   SortScratch& scratch, Make&& make, Key&& key_of, Place&& place_of) {
  const auto bytes = static_cast<size_t>(n) * sizeof(T);
  scratch.elements.resize(bytes);
  scratch.others.resize(bytes);
  T* elements = reinterpret_cast<T*>(scratch.elements.data());
  T* others = reinterpret_cast<T*>(scratch.others.data());
  uint64_t first;
  read(0, 1, &first);
  std::atomic<uint64_t> all = 0;
  chunks.ForEach(2, [&](int64_t, int64_t begin, int64_t end) {
    uint64_t differing = 0;
    EachKey(read, begin, end, [&](int64_t i, uint64_t key) {
      differing |= key ^ first;
      elements[i] = make(key, static_cast<uint32_t>(i));
    });
    all |= differing;
  });
  const T* sorted = SortByDigits(n, elements, others, all << key_shift, chunks, key_of);
  auto* order = reinterpret_cast<uint32_t*>(sorted == elements ? others : elements);
  chunks.ForEach(1, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) order[i] = place_of(sorted[i]);
  });
  return {order, static_cast<size_t>(n)};
}

// Sorts by comparison; unlike std::stable_sort, it needs no extra memory.
absl::Span<const uint32_t> ShortOrder(int64_t n, ReadKeys read, SortScratch& scratch) {
  uint64_t keys[kShort];
  read(0, n, keys);
  scratch.others.resize(static_cast<size_t>(n) * sizeof(uint32_t));
  const absl::Span<uint32_t> order(reinterpret_cast<uint32_t*>(scratch.others.data()), n);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
  return order;
}

}  // namespace

int64_t SortScratchBytes(int64_t n, int key_bits) {
  if (n < kShort) return n * static_cast<int64_t>(sizeof(uint32_t));
  return 2 * n * static_cast<int64_t>(key_bits <= 32 ? sizeof(uint64_t) : sizeof(KeyAndPlace));
}

absl::Span<const uint32_t> StableOrder(int64_t n, int key_bits, ReadKeys read, const LineChunks& chunks,
                                       SortScratch& scratch) {
  if (n < kShort) return ShortOrder(n, read, scratch);
  if (key_bits <= 32 || DifferingBits(read, chunks) >> 32 == 0) {  // Key and position fit in one word.
    return OrderOf<uint64_t>(
        n, 32, read, chunks, scratch, [](uint64_t key, uint32_t place) { return key << 32 | place; },
        [](uint64_t word) { return word; }, [](uint64_t word) { return static_cast<uint32_t>(word); });
  }
  return OrderOf<KeyAndPlace>(
      n, 0, read, chunks, scratch,
      [](uint64_t key, uint32_t place) {
        return KeyAndPlace{key, place};
      },
      [](const KeyAndPlace& pair) { return pair.key; }, [](const KeyAndPlace& pair) { return pair.place; });
}

CachedVector<uint32_t> FirstInOrder(int64_t n, int key_bits, ReadKeys read, int64_t count,
                                    SortScratch& scratch) {
  CachedVector<uint32_t> first;
  if (count == 0) return first;
  if (count * 8 >= n) {
    const absl::Span<const uint32_t> all = StableOrder(n, key_bits, read, LineChunks(n, false), scratch);
    first.assign(all.begin(), all.begin() + count);
    return first;
  }
  // The front of the heap is the worst of the best elements so far; among equals, the later one is worse.
  const auto before = [](const KeyAndPlace& a, const KeyAndPlace& b) {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  };
  CachedVector<KeyAndPlace> best;
  best.reserve(count);
  EachKey(read, 0, count, [&](int64_t i, uint64_t key) { best.push_back({key, static_cast<uint32_t>(i)}); });
  std::make_heap(best.begin(), best.end(), before);
  uint64_t keys[kKeyBlock];
  for (int64_t read_from = count; read_from < n; read_from += kKeyBlock) {
    const int64_t many = std::min(kKeyBlock, n - read_from);
    read(read_from, many, keys);
    constexpr int64_t kBlock = 64;  // Most blocks hold no candidate.
    for (int64_t begin = 0; begin < many; begin += kBlock) {
      const int64_t end = std::min(many, begin + kBlock);
      const uint64_t worst = best.front().key;
      uint64_t better = 0;
      for (int64_t i = begin; i < end; ++i) better |= keys[i] < worst ? 1 : 0;
      if (better == 0) continue;
      for (int64_t i = begin; i < end; ++i) {
        if (keys[i] >= best.front().key) continue;
        std::pop_heap(best.begin(), best.end(), before);
        best.back() = {keys[i], static_cast<uint32_t>(read_from + i)};
        std::push_heap(best.begin(), best.end(), before);
      }
    }
  }
  std::sort_heap(best.begin(), best.end(), before);
  first.reserve(count);
  for (const KeyAndPlace& pair : best) first.push_back(pair.place);
  return first;
}

}  // namespace hlo::cpu
