#pragma once
// Sorts lines: extraction of keys, permutations, and gathering of the sorted elements. Element t of a line is
// identified by e = line * length + t.

#include "kernels/cuda/intrinsics/fast_div.h"
#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

constexpr uint32_t kSortThreads = 256;
constexpr int kMaxSortKeys = 8;
// Maximum length of lines that a thread block sorts in shared memory.
constexpr uint32_t kLongestBlockLine = 2048;

// Lines along a dimension with element stride `stride`.
struct SortLines {
  uint32_t count = 0, length = 1;
  FastDiv length_divisor, stride_divisor;
  HLO_DEVICE int64_t Address(uint32_t line, uint32_t t) const {
    const uint32_t outer = stride_divisor.Quotient(line), inner = line - outer * stride_divisor.divisor;
    return (static_cast<int64_t>(outer) * length + t) * stride_divisor.divisor + inner;
  }
  HLO_DEVICE int64_t Address(uint32_t e) const {
    const uint32_t line = length_divisor.Quotient(e);
    return Address(line, e - line * length);
  }
};

// Converts the bits of an operand's elements to unsigned keys.
struct KeySource {
  const void* data = nullptr;
  uint64_t mask = 0, sign = 0;  // Masks of the type's bits and of the sign bit (0 for unsigned integers).
  uint64_t infinity = 0;        // Floats: the bits of infinity.
  uint32_t byte_count = 4, bits = 32;
  bool is_float = false, descending = false, total = true, equal_total = true;
  bool zeros_equal = false, nans_equal = false;

  HLO_DEVICE uint64_t Bits(int64_t i) const {
    switch (byte_count) {
      case 1:
        return static_cast<const uint8_t*>(data)[i] & mask;
      case 2:
        return static_cast<const uint16_t*>(data)[i];
      case 4:
        return static_cast<const uint32_t*>(data)[i];
      default:
        return static_cast<const uint64_t*>(data)[i];
    }
  }
  HLO_DEVICE bool IsNan(uint64_t b) const { return is_float && (b & ~sign & mask) > infinity; }
  // True if an element is unordered (NaN in a partial order).
  HLO_DEVICE bool IsUnordered(uint64_t b) const { return !(total && equal_total) && IsNan(b); }
  HLO_DEVICE uint64_t Key(uint64_t b) const {
    if (!is_float) {
      b ^= sign;
    } else {
      if (zeros_equal && b == sign) b = 0;
      if (nans_equal && IsNan(b)) b = infinity + 1;
      b = (b & sign) != 0 ? ~b & mask : b | sign;
    }
    return descending ? ~b & mask : b;
  }
};

struct SortKeysArgs {
  SortLines lines;
  uint32_t source_count = 0;  // Sources in descending significance.
  KeySource sources[kMaxSortKeys];
  const uint32_t* order = nullptr;  // nullptr: 0, 1, 2, ...
  void* keys = nullptr;
  uint32_t* order_out = nullptr;  // Output of block sorts.
  uint32_t* unordered = nullptr;  // Set to 1 if an element is unordered.
};

HLO_DEVICE uint64_t JoinedKey(const SortKeysArgs& args, int64_t address, bool* unordered) {
  uint64_t key = 0;
  for (uint32_t k = 0; k < args.source_count; ++k) {
    const KeySource& source = args.sources[k];
    const uint64_t bits = source.Bits(address);
    *unordered |= source.IsUnordered(bits);
    key = (source.bits == 64 ? 0 : key << source.bits) | source.Key(bits);
  }
  return key;
}

template <class Key, class Env>
HLO_DEVICE void SortKeysBody(Env& env, const SortKeysArgs& args) {
  const uint32_t i = env.block().x * env.threads() + env.thread();
  if (i >= args.lines.count * args.lines.length) return;
  bool unordered = false;
  const uint64_t key =
      JoinedKey(args, args.lines.Address(args.order != nullptr ? args.order[i] : i), &unordered);
  static_cast<Key*>(args.keys)[i] = static_cast<Key>(key);
  if (unordered) env.atomic_or(args.unordered, 1);
}

// Uses line numbers as keys, which groups the elements by line.
template <class Env>
HLO_DEVICE void LineKeysBody(Env& env, const SortKeysArgs& args) {
  const uint32_t i = env.block().x * env.threads() + env.thread();
  if (i >= args.lines.count * args.lines.length) return;
  static_cast<uint32_t*>(args.keys)[i] = args.lines.length_divisor.Quotient(args.order[i]);
}

// Sorts lines of up to kLongestBlockLine elements, as many per thread block as fit, by a bitonic network over
// keys and positions.
struct BlockSortArgs {
  SortKeysArgs keys;
  uint32_t padded = 2, padded_bits = 1;  // The line's length, padded to a power of two.
  uint32_t block_lines = 1;
};

template <class Env>
HLO_DEVICE void BlockSortBody(Env& env, const BlockSortArgs& args) {
  const SortLines& lines = args.keys.lines;
  const uint32_t total = args.padded * args.block_lines, first = env.block().x * args.block_lines;
  auto* keys = reinterpret_cast<uint64_t*>(env.shared());
  auto* places = reinterpret_cast<uint32_t*>(keys + total);
  bool unordered = false;
  for (uint32_t i = env.thread(); i < total; i += env.threads()) {
    const uint32_t line = first + (i >> args.padded_bits), t = i & (args.padded - 1);
    const bool valid = line < lines.count && t < lines.length;
    keys[i] = valid ? JoinedKey(args.keys, lines.Address(line, t), &unordered) : ~uint64_t{0};
    places[i] = t;
  }
  if (unordered) env.atomic_or(args.keys.unordered, 1);
  env.sync();
  for (uint32_t size = 2; size <= args.padded; size *= 2) {
    for (uint32_t step = size / 2; step > 0; step /= 2) {
      for (uint32_t pair = env.thread(); pair < total / 2; pair += env.threads()) {
        const uint32_t a = 2 * pair - (pair & (step - 1)), b = a + step;
        const bool before = keys[b] < keys[a] || (keys[b] == keys[a] && places[b] < places[a]);
        const bool ascending = (a & (args.padded - 1) & size) == 0;
        if (before != ascending) continue;
        const uint64_t key = keys[a];
        keys[a] = keys[b];
        keys[b] = key;
        const uint32_t place = places[a];
        places[a] = places[b];
        places[b] = place;
      }
      env.sync();
    }
  }
  for (uint32_t i = env.thread(); i < total; i += env.threads()) {
    const uint32_t line = first + (i >> args.padded_bits), t = i & (args.padded - 1);
    if (line < lines.count && t < lines.length)
      args.keys.order_out[line * lines.length + t] = line * lines.length + places[i];
  }
}

// Fallback if any element is unordered: a bottom-up merge sort with the comparator itself gives the
// reference's permutation. One line per thread block; exits early if all elements are ordered.
struct MergeArgs {
  SortLines lines;
  uint32_t source_count = 0;
  KeySource sources[kMaxSortKeys];
  const uint32_t* unordered = nullptr;
  uint32_t *order = nullptr, *other_order = nullptr;
};

HLO_DEVICE bool ComesBefore(const MergeArgs& args, uint32_t a, uint32_t b) {
  const int64_t x = args.lines.Address(a), y = args.lines.Address(b);
  for (uint32_t k = 0; k < args.source_count; ++k) {
    const KeySource& source = args.sources[k];
    const uint64_t p = source.Bits(x), q = source.Bits(y), left = source.Key(p), right = source.Key(q);
    const bool nan = source.IsNan(p) || source.IsNan(q);
    if (left < right && (source.total || !nan)) return true;
    if (left != right || (nan && !source.equal_total)) return false;
  }
  return false;
}

template <class Env>
HLO_DEVICE void MergeBody(Env& env, const MergeArgs& args) {
  if (*args.unordered == 0) return;
  const uint32_t n = args.lines.length;
  for (uint32_t line = env.block().x; line < args.lines.count; line += env.grid().x) {
    uint32_t *from = args.order + line * n, *to = args.other_order + line * n;
    for (uint32_t i = env.thread(); i < n; i += env.threads()) from[i] = line * n + i;
    env.sync();
    for (uint32_t length = 1; length < n; length *= 2) {
      for (uint64_t begin = uint64_t{2} * length * env.thread(); begin < n;
           begin += uint64_t{2} * length * env.threads()) {
        const auto first = static_cast<uint32_t>(begin);
        const uint32_t middle = n - first < length ? n : first + length,
                       end = n - middle < length ? n : middle + length;
        uint32_t left = first, right = middle;
        for (uint32_t i = first; i < end; ++i) {
          const bool take_right =
              left == middle || (right < end && ComesBefore(args, from[right], from[left]));
          to[i] = from[take_right ? right++ : left++];
        }
      }
      env.sync();
      uint32_t* next = from;
      from = to;
      to = next;
    }
    if (from != args.order + line * n) {
      for (uint32_t i = env.thread(); i < n; i += env.threads()) to[i] = from[i];
    }
    env.sync();
  }
}

// Computes out[e] = in[order[e]].
struct PermuteArgs {
  SortLines lines;
  const uint32_t* order = nullptr;
  const void* in = nullptr;
  void* out = nullptr;
};
template <class Word, class Env>
HLO_DEVICE void PermuteBody(Env& env, const PermuteArgs& args) {
  const uint32_t i = env.block().x * env.threads() + env.thread();
  if (i >= args.lines.count * args.lines.length) return;
  static_cast<Word*>(args.out)[args.lines.Address(i)] =
      static_cast<const Word*>(args.in)[args.lines.Address(args.order[i])];
}

// Stores the first k elements of each line and their original positions.
struct TopkArgs {
  SortLines lines;
  const uint32_t* order = nullptr;
  const void* in = nullptr;
  void* values = nullptr;
  int32_t* places = nullptr;
  uint32_t kept = 0;
  FastDiv kept_divisor;
};
template <class Word, class Env>
HLO_DEVICE void TopkBody(Env& env, const TopkArgs& args) {
  const uint32_t i = env.block().x * env.threads() + env.thread();
  if (i >= args.lines.count * args.kept) return;
  const uint32_t line = args.kept_divisor.Quotient(i), t = i - line * args.kept;
  const uint32_t from = args.order[line * args.lines.length + t];
  static_cast<Word*>(args.values)[i] = static_cast<const Word*>(args.in)[from];
  args.places[i] = static_cast<int32_t>(from - line * args.lines.length);
}

template <class Key>
struct SortKeysKernel {
  using Args = SortKeysArgs;
  static constexpr uint32_t kThreads = kSortThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    SortKeysBody<Key>(env, args);
  }
};
struct LineKeysKernel {
  using Args = SortKeysArgs;
  static constexpr uint32_t kThreads = kSortThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    LineKeysBody(env, args);
  }
};
struct BlockSortKernel {
  using Args = BlockSortArgs;
  static constexpr uint32_t kThreads = kSortThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    BlockSortBody(env, args);
  }
};
struct MergeKernel {
  using Args = MergeArgs;
  static constexpr uint32_t kThreads = kSortThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    MergeBody(env, args);
  }
};
template <class Word>
struct PermuteKernel {
  using Args = PermuteArgs;
  static constexpr uint32_t kThreads = kSortThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    PermuteBody<Word>(env, args);
  }
};
template <class Word>
struct TopkKernel {
  using Args = TopkArgs;
  static constexpr uint32_t kThreads = kSortThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    TopkBody<Word>(env, args);
  }
};

}  // namespace hlo::cuda
