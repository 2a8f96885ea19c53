#include "kernels/cpu/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <type_traits>

#include "kernels/cpu/tile_loops.h"

namespace hlo::cpu {
namespace {

// Below this a merge is faster than counting digits.
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

void Merge(absl::Span<uint64_t> keys, absl::Span<uint32_t> order) {
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
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

void StableOrder(absl::Span<uint64_t> keys, absl::Span<uint32_t> order, SortScratch& scratch) {
  const size_t n = keys.size();
  if (n < kShort) {
    Merge(keys, order);
    return;
  }
  constexpr int kDigits = 64 / kDigitBits;
  std::array<std::array<uint32_t, kBuckets>, kDigits> counts{};
  uint64_t differing = 0;
  for (size_t i = 1; i < n; ++i) differing |= keys[i] ^ keys[0];
  for (size_t i = 0; i < n; ++i) {
    for (int d = 0; d < kDigits; ++d) {
      if ((differing >> (d * kDigitBits) & (kBuckets - 1)) == 0) continue;
      ++counts[d][keys[i] >> (d * kDigitBits) & (kBuckets - 1)];
    }
  }
  scratch.keys.resize(n);
  scratch.positions.resize(n);
  std::iota(order.begin(), order.end(), 0u);
  uint64_t *from = keys.data(), *to = scratch.keys.data();
  uint32_t *from_position = order.data(), *to_position = scratch.positions.data();
  for (int d = 0; d < kDigits; ++d) {
    // A digit in which no two keys differ sorts nothing.
    if ((differing >> (d * kDigitBits) & (kBuckets - 1)) == 0) continue;
    std::array<uint32_t, kBuckets> next;
    uint32_t sum = 0;
    for (size_t b = 0; b < kBuckets; ++b) {
      next[b] = sum;
      sum += counts[d][b];
    }
    for (size_t i = 0; i < n; ++i) {
      const uint32_t at = next[from[i] >> (d * kDigitBits) & (kBuckets - 1)]++;
      to[at] = from[i];
      to_position[at] = from_position[i];
    }
    std::swap(from, to);
    std::swap(from_position, to_position);
  }
  if (from_position != order.data()) std::copy_n(from_position, n, order.data());
  if (from != keys.data()) std::copy_n(from, n, keys.data());
}

}  // namespace hlo::cpu
