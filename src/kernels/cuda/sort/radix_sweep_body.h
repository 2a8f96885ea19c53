#pragma once
// Stable LSD radix sort of lines, with one sweep over the keys for each digit of 8 bits. The histograms of
// all digits are made first. A thread block then ranks a tile, finds the starts of its digits from the counts
// of earlier tiles by look-back, and scatters the keys. Counts are integers, so results do not depend on
// timing.

#include <type_traits>

#include "kernels/cuda/sort/radix_rank.h"
#include "kernels/cuda/sort/sort_lines.h"

namespace hlo::cuda {

template <class Key>
struct RadixSweepArgs {
  SortLines lines;  // Keys and values are dense in their order.
  RadixKey<Key> code;
  const Key* keys_in = nullptr;
  Key* keys_out = nullptr;              // nullptr: not stored.
  const uint32_t* values_in = nullptr;  // nullptr: element numbers.
  uint32_t* values_out = nullptr;
  uint32_t* histograms = nullptr;  // [lines, passes, digits], zeros before the histogram kernel.
  uint32_t* next_tile = nullptr;   // A counter for each pass, zero before the launch.
  // Status words of the tiles' digits, [lines, tiles, digits]: 0, 1 + the count in the tile, or kTile + 2 +
  // the start of the next tile. `statuses` are zeros before the launch; `next_statuses` are zeros after it.
  uint32_t *statuses = nullptr, *next_statuses = nullptr;
  uint32_t* unordered = nullptr;  // Set to 1 if a key is unordered; may be nullptr.
  uint32_t tiles = 1;             // Tiles per line, in a sweep or for the histograms.
  FastDiv tiles_divisor;
  uint32_t pass = 0, passes = 1;
  bool encodes = false, decodes = false;  // The sweep reads or writes elements instead of keys.
};

template <class Key>
struct RadixHistogram {
  using Args = RadixSweepArgs<Key>;
  static constexpr uint32_t kThreads = 256, kItems = 16;
  static constexpr uint32_t kTile = kThreads * kItems;
  // Copies of the counts for different lanes, which shortens atomics to the same address.
  static constexpr uint32_t kCopies = sizeof(Key) == 8 ? 2 : 4;
  static constexpr size_t kSharedBytes = sizeof(Key) * kCopies * kDigits * sizeof(uint32_t);

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    auto* counts = reinterpret_cast<uint32_t*>(env.shared());  // [passes, digits, copies].
    const uint32_t thread = env.thread(), count = args.passes * kDigits, length = args.lines.length;
    for (uint32_t i = thread; i < count * kCopies; i += kThreads) counts[i] = 0;
    env.sync();
    const uint32_t line = args.tiles_divisor.Quotient(env.block().x),
                   tile = env.block().x - line * args.tiles, copy = thread % kCopies;
    const Key* in = args.keys_in + int64_t{line} * length;
    bool unordered = false;
    for (int64_t first = int64_t{tile} * kTile; first < length; first += int64_t{args.tiles} * kTile) {
      const auto left = static_cast<uint32_t>(length - first);
      unordered |= left < kTile ? CountTile<false>(env, args, in + first, left, counts + copy)
                                : CountTile<true>(env, args, in + first, left, counts + copy);
    }
    if (unordered && args.unordered != nullptr) env.atomic_or(args.unordered, 1);
    env.sync();
    for (uint32_t i = thread; i < count; i += kThreads) {
      uint32_t sum = 0;
      for (uint32_t c = 0; c < kCopies; ++c) sum += counts[i * kCopies + c];
      if (sum > 0) env.atomic_add(&args.histograms[int64_t{line} * count + i], sum);
    }
  }

 private:
  // Counts the digits of a tile, of which `left` keys exist. Returns true if one is unordered.
  template <bool kIsFull, class Env>
  static HLO_DEVICE bool CountTile(Env& env, const Args& args, const Key* tile, uint32_t left,
                                   uint32_t* counts) {
    const uint32_t thread = env.thread();
    bool unordered = false;
    Key keys[kItems] = {};
    HLO_UNROLL
    for (uint32_t r = 0; r < kItems; ++r) {
      if (kIsFull || r * kThreads + thread < left) keys[r] = tile[r * kThreads + thread];
    }
    HLO_UNROLL
    for (uint32_t r = 0; r < kItems; ++r) {
      if (args.encodes) keys[r] = args.code.Encode(keys[r]);
      if (kIsFull || r * kThreads + thread < left) unordered |= args.code.IsUnordered(keys[r]);
      keys[r] = args.code.Canonical(keys[r]);
    }
    HLO_UNROLL
    for (uint32_t p = 0; p < sizeof(Key); ++p) {
      if (p >= args.passes) break;
      uint32_t* digits = counts + p * kDigits * kCopies;
      HLO_UNROLL
      for (uint32_t r = 0; r < kItems; ++r) {
        const uint32_t digit = args.code.template Digit<false>(keys[r], p * kRadixBits);
        if (kIsFull || r * kThreads + thread < left) env.atomic_add(digits + digit * kCopies, 1);
      }
    }
    return unordered;
  }
};

struct NoValue {};

// kCanonical: keys of different elements may have the same digits.
template <class Key, class Value, bool kCanonical>
struct RadixSweep {
  using Args = RadixSweepArgs<Key>;
  static constexpr bool kHasValues = !std::is_same_v<Value, NoValue>;
  static constexpr uint32_t kThreads = kHasValues ? 384 : 256, kMinBlocks = kHasValues ? 2 : 4;
  // The largest numbers that do not spill registers.
  static constexpr int kItems = sizeof(Key) == 8   ? (kCanonical || kHasValues ? 10 : 12)
                                : kHasValues       ? (kCanonical ? 13 : 15)
                                : sizeof(Key) == 4 ? (kCanonical ? 14 : 20)
                                                   : (kCanonical ? 12 : 18);
  static constexpr uint32_t kTile = kThreads * kItems;
  using Rank = RadixRank<kThreads, kItems>;

  struct Shared {
    typename Rank::Shared rank;
    Key keys[kTile];
    Value values[kHasValues ? kTile : 1];
    uint32_t offsets[kDigits];  // From the position in the tile to the position in the line.
    uint32_t number;
  };

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    auto& shared = *reinterpret_cast<Shared*>(env.shared());
    const uint32_t thread = env.thread();
    if (thread == 0) shared.number = env.atomic_add(args.next_tile + args.pass, 1);
    env.sync();
    const uint32_t number = shared.number, line = args.tiles_divisor.Quotient(number),
                   tile = number - line * args.tiles, first = tile * kTile, shift = args.pass * kRadixBits;
    const uint32_t count = args.lines.length - first < kTile ? args.lines.length - first : kTile;
    Key keys[kItems] = {};
    const int64_t base = int64_t{line} * args.lines.length;
    Load(args.keys_in + base + first, count, thread, keys);
    if (args.encodes) {
      HLO_UNROLL
      for (Key& key : keys) key = args.code.Encode(key);
    }
    // Items past the end have the last digit and come after all others of the line.
    if (!kCanonical && count < kTile) {
      HLO_UNROLL
      for (int r = 0; r < kItems; ++r) {
        if (Rank::Item(thread, r) >= count) keys[r] = static_cast<Key>(~Key{0});
      }
    }
    const auto digit_of = [&](int r) {
      const uint32_t digit = Digit(args, keys[r], shift);
      return !kCanonical || Rank::Item(thread, r) < count ? digit : kDigits - 1;
    };
    uint32_t at[kItems];
    Rank::RankInWarp(env, shared.rank, digit_of, at);
    Value values[kHasValues ? kItems : 1] = {};
    if constexpr (kHasValues) LoadValues(args, static_cast<uint32_t>(base) + first, count, thread, values);

    uint32_t start[1], sum = 0;
    uint32_t* const statuses = args.statuses + int64_t{number} * kDigits;
    Rank::ScatterDigits(env, shared.rank, start, [&](uint32_t digit, uint32_t digit_count) {
      sum = digit_count;
      if (tile > 0 && tile + 1 < args.tiles) env.store_volatile(statuses + digit, 1 + digit_count);
      args.next_statuses[int64_t{number} * kDigits + digit] = 0;
    });
    HLO_UNROLL
    for (int r = 0; r < kItems; ++r) {
      const uint32_t to = Rank::Position(env, shared.rank, at[r]);
      shared.keys[to] = keys[r];
      if constexpr (kHasValues) shared.values[to] = values[r];
    }
    const uint32_t before = tile == 0 ? FirstStart(env, args, shared, line) : LookBack(env, statuses, thread);
    if (thread < kDigits) {
      if (tile + 1 < args.tiles) env.store_volatile(statuses + thread, kTile + 2 + before + sum);
      shared.offsets[thread] = before - start[0];
    }
    env.sync();
    if (count == kTile)
      Scatter<true>(args, shared, base, count, thread, shift);
    else
      Scatter<false>(args, shared, base, count, thread, shift);
  }

 private:
  static HLO_DEVICE uint32_t Digit(const Args& args, Key key, uint32_t shift) {
    return args.code.template Digit<kCanonical>(key, shift);
  }

  template <class T>
  static HLO_DEVICE void Load(const T* tile, uint32_t count, uint32_t thread, T (&items)[kItems]) {
    HLO_UNROLL
    for (int r = 0; r < kItems; ++r) {
      const uint32_t i = Rank::Item(thread, r);
      if (i < count) items[r] = tile[i];
    }
  }
  static HLO_DEVICE void LoadValues(const Args& args, uint32_t number, uint32_t count, uint32_t thread,
                                    Value (&values)[kItems]) {
    if (args.values_in != nullptr) {
      Load(args.values_in + number, count, thread, values);
      return;
    }
    HLO_UNROLL
    for (int r = 0; r < kItems; ++r) values[r] = number + Rank::Item(thread, r);
  }

  // Returns the start of the thread's digit in the line.
  template <class Env>
  static HLO_DEVICE uint32_t FirstStart(Env& env, const Args& args, Shared& shared, uint32_t line) {
    const uint32_t* histogram = args.histograms + (int64_t{line} * args.passes + args.pass) * kDigits;
    return Rank::SumBefore(env, shared.rank, env.thread() < kDigits ? histogram[env.thread()] : 0);
  }

  // The same for the keys of this tile: adds the counts of earlier tiles to the nearest known start.
  template <class Env>
  static HLO_DEVICE uint32_t LookBack(Env& env, const uint32_t* statuses, uint32_t digit) {
    uint32_t before = 0;
    if (digit >= kDigits) return before;
    for (const uint32_t* earlier = statuses + digit;;) {
      earlier -= kDigits;
      uint32_t status = env.load_volatile(earlier);
      while (status == 0) status = env.load_volatile(earlier);
      if (status > kTile + 1) return before + (status - (kTile + 2));
      before += status - 1;
    }
  }

  // Stores the keys of a tile, or the first `count`, in the order of their digits.
  template <bool kIsFull>
  static HLO_DEVICE void Scatter(const Args& args, const Shared& shared, int64_t base, uint32_t count,
                                 uint32_t thread, uint32_t shift) {
    Key* const keys = args.keys_out == nullptr ? nullptr : args.keys_out + base;
    uint32_t* const values = kHasValues ? args.values_out + base : nullptr;
    HLO_UNROLL
    for (int r = 0; r < kItems; ++r) {
      const uint32_t i = r * kThreads + thread;
      if (!kIsFull && i >= count) continue;
      const Key key = shared.keys[i];
      const uint32_t t = shared.offsets[Digit(args, key, shift)] + i;
      if (keys != nullptr) keys[t] = args.decodes ? args.code.Decode(key) : key;
      if constexpr (kHasValues) values[t] = shared.values[i];
    }
  }
};

}  // namespace hlo::cuda
