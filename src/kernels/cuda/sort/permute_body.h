#pragma once
// Applies permutations of lines.

#include "kernels/cuda/sort/sort_lines.h"

namespace hlo::cuda {

// Computes out[e] = in[order[e]].
struct PermuteArgs {
  SortLines lines;
  const uint32_t* only_if = nullptr;  // The kernel does nothing if this is 0.
  const uint32_t* order = nullptr;
  const void* in = nullptr;
  void* out = nullptr;
};
template <class Word>
struct PermuteKernel {
  using Args = PermuteArgs;
  static constexpr uint32_t kThreads = kSortThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    if (args.only_if != nullptr && *args.only_if == 0) return;
    const uint32_t count = args.lines.count * args.lines.length;
    for (uint64_t i = uint64_t{env.block().x} * kSortThreads + env.thread(); i < count;
         i += uint64_t{env.grid().x} * kSortThreads) {
      const auto e = static_cast<uint32_t>(i);
      static_cast<Word*>(args.out)[args.lines.Address(e)] =
          static_cast<const Word*>(args.in)[args.lines.Address(args.order[e])];
    }
  }
};

// Stores the first k elements of each line and their original positions.
struct TopkArgs {
  SortLines lines;
  const uint32_t* order = nullptr;
  const void* in = nullptr;
  void* values = nullptr;
  int32_t* indices = nullptr;
  uint32_t kept = 0;
  FastDiv kept_divisor;
};
template <class Word>
struct TopkKernel {
  using Args = TopkArgs;
  static constexpr uint32_t kThreads = kSortThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint32_t i = env.block().x * env.threads() + env.thread();
    if (i >= args.lines.count * args.kept) return;
    const uint32_t line = args.kept_divisor.Quotient(i), t = i - line * args.kept;
    const uint32_t from = args.order[line * args.lines.length + t];
    static_cast<Word*>(args.values)[i] = static_cast<const Word*>(args.in)[from];
    args.indices[i] = static_cast<int32_t>(from - line * args.lines.length);
  }
};

}  // namespace hlo::cuda
