#pragma once
// Searches an array for infinities and NaN: a test of the bits of each element.

#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

// Element x is sought if (x & mask) == value, in its last four bytes. No element is sought if mask is 0.
struct SearchPattern {
  uint32_t mask = 0, value = 1;
};

struct NonFiniteSearchArgs {
  static constexpr uint32_t kBlockThreads = 256, kMaxBlocks = 528;
  const void* data = nullptr;
  int64_t count = 0;
  uint32_t byte_count = 4;  // The size of an element: 1, 2, 4 or 8.
  SearchPattern pattern;
  bool vectors = true;        // The data are aligned to 16 bytes.
  uint32_t* found = nullptr;  // Becomes 1 if an element is found; otherwise it does not change.
};

struct NonFiniteSearch {
  using Args = NonFiniteSearchArgs;
  static constexpr uint32_t kThreads = NonFiniteSearchArgs::kBlockThreads;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const NonFiniteSearchArgs& args) {
    const int64_t step = int64_t{env.grid().x} * kThreads;
    const int64_t first = int64_t{env.block().x} * kThreads + env.thread();
    const int64_t vector_count = args.vectors ? args.count * args.byte_count / 16 : 0;
    bool found = false;
    for (int64_t i = first; i < vector_count; i += step)
      found |= IsInVector(args, static_cast<const Vector*>(args.data)[i]);
    for (int64_t i = vector_count * 16 / args.byte_count + first; i < args.count; i += step)
      found |= IsSought(args.pattern, Element(args, i));
    if (env.ballot(found) != 0 && env.thread() % kWarpSize == 0) env.atomic_or(args.found, 1);
  }

 private:
  struct alignas(16) Vector {
    uint32_t words[4];
  };

  static HLO_DEVICE bool IsSought(SearchPattern pattern, uint32_t x) {
    return (x & pattern.mask) == pattern.value;
  }
  static HLO_DEVICE bool IsInVector(const NonFiniteSearchArgs& args, const Vector& vector) {
    bool found = false;
    HLO_UNROLL
    for (int w = 0; w < 4; ++w) {
      if (args.byte_count == 8 && w % 2 == 0) continue;
      uint32_t word = vector.words[w];
      found |= IsSought(args.pattern, word);
      // The upper elements of the word move to its end.
      for (uint32_t shift = 8 * args.byte_count; shift < 32; shift += 8 * args.byte_count)
        found |= IsSought(args.pattern, word >> shift);
    }
    return found;
  }
  static HLO_DEVICE uint32_t Element(const NonFiniteSearchArgs& args, int64_t i) {
    switch (args.byte_count) {
      case 1:
        return static_cast<const uint8_t*>(args.data)[i];
      case 2:
        return static_cast<const uint16_t*>(args.data)[i];
      case 4:
        return static_cast<const uint32_t*>(args.data)[i];
      default:
        return static_cast<uint32_t>(static_cast<const uint64_t*>(args.data)[i] >> 32);
    }
  }
};

}  // namespace hlo::cuda
