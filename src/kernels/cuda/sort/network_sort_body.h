#pragma once
// Sorts short lines by a bitonic network over keys and positions, as many lines per thread block as fit.

#include "kernels/cuda/sort/line_results.h"
#include "kernels/cuda/sort/sort_keys_body.h"

namespace hlo::cuda {

constexpr uint32_t kLongestNetworkLine = 256;

struct NetworkSortArgs {
  SortKeysArgs keys;
  LineResults results;
  uint32_t padded = 2, padded_bits = 1;  // The line's length, padded to a power of two.
  uint32_t block_lines = 1;
};

struct NetworkSort {
  using Args = NetworkSortArgs;
  static constexpr uint32_t kThreads = kSortThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const SortLines& lines = args.keys.lines;
    const uint32_t total = args.padded * args.block_lines, first = env.block().x * args.block_lines;
    auto* keys = reinterpret_cast<uint64_t*>(env.shared());
    auto* indices = reinterpret_cast<uint32_t*>(keys + total);
    bool unordered = false;
    for (uint32_t i = env.thread(); i < total; i += env.threads()) {
      const uint32_t line = first + (i >> args.padded_bits), t = i & (args.padded - 1);
      const bool valid = line < lines.count && t < lines.length;
      keys[i] = valid ? JoinedKey(args.keys, lines.Address(line, t), &unordered) : ~uint64_t{0};
      indices[i] = t;
    }
    if (unordered) env.atomic_or(args.keys.unordered, 1);
    env.sync();
    for (uint32_t size = 2; size <= args.padded; size *= 2) {
      for (uint32_t step = size / 2; step > 0; step /= 2) {
        for (uint32_t pair = env.thread(); pair < total / 2; pair += env.threads()) {
          const uint32_t a = 2 * pair - (pair & (step - 1)), b = a + step;
          const bool before = keys[b] < keys[a] || (keys[b] == keys[a] && indices[b] < indices[a]);
          const bool ascending = (a & (args.padded - 1) & size) == 0;
          if (before != ascending) continue;
          const uint64_t key = keys[a];
          keys[a] = keys[b];
          keys[b] = key;
          const uint32_t index = indices[a];
          indices[a] = indices[b];
          indices[b] = index;
        }
        env.sync();
      }
    }
    for (uint32_t i = env.thread(); i < total; i += env.threads()) {
      const uint32_t line = first + (i >> args.padded_bits), t = i & (args.padded - 1);
      if (line >= lines.count || t >= args.results.kept) continue;
      args.results.StoreIndex(lines, line, t, indices[i]);
      const int64_t from = lines.Address(line, indices[i]),
                    to = args.results.First(lines, line) + t * args.results.Stride(lines);
      for (uint32_t k = 0; k < args.results.array_count; ++k) {
        const MovedArray& array = args.results.arrays[k];
        CopyElement(array.width, array.in, from, array.out, to);
      }
    }
  }
};

}  // namespace hlo::cuda
