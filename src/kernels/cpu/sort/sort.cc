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
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {
namespace {

// Shorter lines are sorted by merging, which is faster than radix sort.
constexpr int64_t kShort = 256;
static_assert(kShort <= kKeyBlock);
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
  return DispatchComputeType(order.compute_type, [&]<class T>() {
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
void CountsToOffsets(absl::Span<Buckets> chunks) {
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
    const absl::Span<Buckets> offsets = is_split ? absl::MakeSpan(cut) : absl::MakeSpan(&whole[k], 1);
    if (is_split) {
      chunks.ForEach(1, [=](int64_t p, int64_t begin, int64_t end) {
        Buckets count{};
        for (int64_t i = begin; i < end; ++i) ++count[bucket(from[i], shift)];
        offsets[p] = count;
      });
    }
    CountsToOffsets(offsets);
    chunks.ForEach(3, [=](int64_t p, int64_t begin, int64_t end) {
      Buckets next = offsets[p];
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

// Sorts elements that make(key, index) packs; index_of(T) unpacks the index.
template <class T, class Make, class Key, class IndexOf>
absl::Span<const uint32_t> OrderOf(int64_t n, int key_shift, ReadKeys read, const LineChunks& chunks,
                                   SortScratch& scratch, Make&& make, Key&& key_of, IndexOf&& index_of) {
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
    for (int64_t i = begin; i < end; ++i) order[i] = index_of(sorted[i]);
  });
  return {order, static_cast<size_t>(n)};
}

// Merges the sorted halves of `from`, of n / 2 and the other elements, into `to`. It proceeds from both ends
// at once, which halves the chain of dependent loads, and has no branches that depend on the elements.
template <class T>
void MergeHalves(const T* from, int64_t n, T* to) {
  const int64_t half = n / 2;
  const T *left = from, *right = from + half, *last_left = right - 1, *last_right = from + n - 1;
  T* end = to + n - 1;
  for (int64_t i = 0; i < half; ++i) {
    const bool takes_right = *right < *left;
    *to++ = takes_right ? *right : *left;
    right += takes_right;
    left += !takes_right;
    const bool takes_left = *last_right < *last_left;
    *end-- = takes_left ? *last_left : *last_right;
    last_left -= takes_left;
    last_right -= !takes_left;
  }
  if (n % 2 != 0) *to = left <= last_left ? *left : *right;
}

template <class T>
[[gnu::always_inline]] inline void OrderPair(T& a, T& b) {
  const T low = b < a ? b : a, high = b < a ? a : b;
  a = low;
  b = high;
}

// Sorts at most four elements.
template <class T>
void SortNetwork(T* x, int64_t n) {
  if (n == 4) {
    OrderPair(x[0], x[1]);
    OrderPair(x[2], x[3]);
    OrderPair(x[0], x[2]);
    OrderPair(x[1], x[3]);
    OrderPair(x[1], x[2]);
  } else if (n == 3) {
    OrderPair(x[0], x[1]);
    OrderPair(x[1], x[2]);
    OrderPair(x[0], x[1]);
  } else if (n == 2) {
    OrderPair(x[0], x[1]);
  }
}

// Sorts elements that all differ, in place or into `other`, which has room for n elements in any case.
template <class T>
void MergeSort(T* elements, int64_t n, T* other, bool into_other) {
  if (n <= 4) {
    SortNetwork(elements, n);
    if (into_other) std::copy(elements, elements + n, other);
    return;
  }
  const int64_t half = n / 2;
  MergeSort(elements, half, other, !into_other);
  MergeSort(elements + half, n - half, other + half, !into_other);
  MergeHalves(into_other ? elements : other, n, into_other ? other : elements);
}

// Sorts keys with their positions as the less significant bits of one word.
template <class Word>
absl::Span<const uint32_t> ShortOrder(int64_t n, ReadKeys read, SortScratch& scratch) {
  uint64_t keys[kShort];
  Word words[kShort], others[kShort];
  read(0, n, keys);
  for (int64_t i = 0; i < n; ++i) words[i] = static_cast<Word>(keys[i]) << 32 | static_cast<uint32_t>(i);
  MergeSort(words, n, others, /*into_other=*/false);
  scratch.others.resize(static_cast<size_t>(n) * sizeof(uint32_t));
  const absl::Span<uint32_t> order(reinterpret_cast<uint32_t*>(scratch.others.data()), n);
  for (int64_t i = 0; i < n; ++i) order[i] = static_cast<uint32_t>(words[i]);
  return order;
}

}  // namespace

int64_t SortScratchBytes(int64_t n, int key_bits) {
  if (n < kShort) return n * static_cast<int64_t>(sizeof(uint32_t));
  return 2 * n * static_cast<int64_t>(key_bits <= 32 ? sizeof(uint64_t) : sizeof(KeyAndIndex));
}

absl::Span<const uint32_t> StableOrder(int64_t n, int key_bits, ReadKeys read, const LineChunks& chunks,
                                       SortScratch& scratch) {
  if (n < kShort) {
    __extension__ using Wide = unsigned __int128;
    return key_bits <= 32 ? ShortOrder<uint64_t>(n, read, scratch) : ShortOrder<Wide>(n, read, scratch);
  }
  if (key_bits <= 32 || DifferingBits(read, chunks) >> 32 == 0) {  // Key and position fit in one word.
    return OrderOf<uint64_t>(
        n, 32, read, chunks, scratch, [](uint64_t key, uint32_t index) { return key << 32 | index; },
        [](uint64_t word) { return word; }, [](uint64_t word) { return static_cast<uint32_t>(word); });
  }
  return OrderOf<KeyAndIndex>(
      n, 0, read, chunks, scratch,
      [](uint64_t key, uint32_t index) {
        return KeyAndIndex{key, index};
      },
      [](const KeyAndIndex& pair) { return pair.key; }, [](const KeyAndIndex& pair) { return pair.index; });
}

namespace {

// Returns the bits of up to 64 keys that are less than the limit.
uint64_t Smaller(const uint64_t* keys, int64_t n, uint64_t limit) {
  uint64_t bits = 0;
  int64_t i = 0;
#if defined(HLO_AVX512_VECTORS)
  constexpr int64_t kCount = 8;
  const __m512i limits = _mm512_set1_epi64(static_cast<int64_t>(limit));
  for (; i + kCount <= n; i += kCount)
    bits |= static_cast<uint64_t>(_mm512_cmplt_epu64_mask(_mm512_loadu_si512(keys + i), limits)) << i;
#endif
  for (; i < n; ++i) bits |= static_cast<uint64_t>(keys[i] < limit) << i;
  return bits;
}

// The best elements so far: in order if they are few, else a heap whose front is the worst. Among equals, the
// later one is worse.
class BestElements {
 public:
  explicit BestElements(int64_t count) : count_(count), is_sorted_(count <= kMaxSorted) {
    elements_.reserve(count);
  }
  bool is_full() const { return std::ssize(elements_) == count_; }
  uint64_t worst() const { return is_sorted_ ? elements_.back().key : elements_.front().key; }
  // Adds an element that follows all others; it takes the place of the worst if the list is full.
  void Add(const KeyAndIndex& element) {
    if (!is_sorted_) {
      if (is_full()) {
        std::pop_heap(elements_.begin(), elements_.end(), &Before);
        elements_.back() = element;
      } else {
        elements_.push_back(element);
      }
      return std::push_heap(elements_.begin(), elements_.end(), &Before);
    }
    if (!is_full()) elements_.push_back(element);
    size_t k = elements_.size() - 1;
    for (; k > 0 && elements_[k - 1].key > element.key; --k) elements_[k] = elements_[k - 1];
    elements_[k] = element;
  }
  absl::Span<const KeyAndIndex> InOrder() {
    if (!is_sorted_) std::sort_heap(elements_.begin(), elements_.end(), &Before);
    return elements_;
  }

 private:
  static constexpr int64_t kMaxSorted = 32;
  static bool Before(const KeyAndIndex& a, const KeyAndIndex& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
  int64_t count_;
  bool is_sorted_;
  CachedVector<KeyAndIndex> elements_;
};

}  // namespace

CachedVector<uint32_t> FirstInOrder(int64_t n, int key_bits, ReadKeys read, int64_t count,
                                    SortScratch& scratch) {
  CachedVector<uint32_t> first;
  if (count == 0) return first;
  if (count * 8 >= n) {
    const absl::Span<const uint32_t> all =
        StableOrder(n, key_bits, read, LineChunks(n, /*is_split=*/false), scratch);
    first.assign(all.begin(), all.begin() + count);
    return first;
  }
  BestElements best(count);
  uint64_t keys[kKeyBlock];
  for (int64_t begin = 0; begin < n; begin += kKeyBlock) {
    const int64_t many = std::min(kKeyBlock, n - begin);
    read(begin, many, keys);
    for (int64_t i = 0; i < many;) {
      if (!best.is_full()) {
        best.Add({keys[i], static_cast<uint32_t>(begin + i)});
        ++i;
        continue;
      }
      // Most blocks hold no candidate.
      const int64_t length = std::min<int64_t>(64, many - i);
      for (uint64_t smaller = Smaller(keys + i, length, best.worst()); smaller != 0; smaller &= smaller - 1) {
        const int64_t k = i + std::countr_zero(smaller);
        if (keys[k] < best.worst()) best.Add({keys[k], static_cast<uint32_t>(begin + k)});
      }
      i += length;
    }
  }
  first.reserve(count);
  for (const KeyAndIndex& pair : best.InOrder()) first.push_back(pair.index);
  return first;
}

}  // namespace hlo::cpu
