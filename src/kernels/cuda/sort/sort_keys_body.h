#pragma once
// Unsigned keys of the elements of one or several operands.

#include "kernels/cuda/sort/sort_lines.h"

namespace hlo::cuda {

constexpr int kMaxSortKeys = 8;

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

template <class Key>
struct SortKeysKernel {
  using Args = SortKeysArgs;
  static constexpr uint32_t kThreads = kSortThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t i = env.block().x * env.threads() + env.thread();
    if (i >= args.lines.count * args.lines.length) return;
    bool unordered = false;
    const uint64_t key =
        JoinedKey(args, args.lines.Address(args.order != nullptr ? args.order[i] : i), &unordered);
    static_cast<Key*>(args.keys)[i] = static_cast<Key>(key);
    if (unordered) env.atomic_or(args.unordered, 1);
  }
};

}  // namespace hlo::cuda
