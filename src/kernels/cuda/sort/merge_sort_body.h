#pragma once
// Merge sort of lines in which an element is unordered, as NaN is in the order of <.

#include "kernels/cuda/sort/sort_keys_body.h"

namespace hlo::cuda {

// A bottom-up merge sort with the comparator itself gives the reference's permutation. A thread block sorts a
// line; it exits early if all elements are ordered.
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

struct MergeKernel {
  using Args = MergeArgs;
  static constexpr uint32_t kThreads = kSortThreads, kMinBlocks = 2;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
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
};

}  // namespace hlo::cuda
