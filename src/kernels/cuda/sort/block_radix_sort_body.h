#pragma once
// Stable radix sort of a line in the registers and the shared memory of a thread block.

#include "kernels/cuda/sort/line_results.h"
#include "kernels/cuda/sort/radix_rank.h"
#include "kernels/cuda/sort/sort_keys_body.h"

namespace hlo::cuda {

constexpr uint32_t kLongestBlockLine = 8192;
// Wider elements are not staged in shared memory.
constexpr uint32_t kWidestStaged = 8;

template <class Key>
struct BlockRadixSortArgs {
  SortKeysArgs keys;
  RadixKey<Key> code;
  LineResults results;
  // The keys are elements of one operand, of Key's size or one byte. `elements_out` receives them.
  bool of_elements = false;
  void* elements_out = nullptr;
  uint32_t passes = 1;
};

// Keys of up to 8 * sizeof(Key) bits. kHasIndices: indices are sorted with them.
template <class Key, bool kHasIndices, uint32_t kBlockThreads, int kItems>
struct BlockRadixSort {
  using Args = BlockRadixSortArgs<Key>;
  static constexpr uint32_t kThreads = kBlockThreads, kTile = kThreads * kItems;
  static constexpr uint32_t kMinBlocks = (sizeof(Key) == 8 || kHasIndices ? 512 : 1024) / kThreads;
  using Rank = RadixRank<kThreads, kItems>;

  struct alignas(16) Shared {
    alignas(16) uint16_t indices[kHasIndices ? kTile : 8];
    typename Rank::Shared rank;
    Key keys[kTile];
  };
  // Staged lines replace ranks and keys.
  static size_t SharedBytes(uint32_t staged_bytes) {
    const size_t staged = sizeof(Shared::indices) + staged_bytes;
    return staged > sizeof(Shared) ? staged : sizeof(Shared);
  }

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    auto& shared = *reinterpret_cast<Shared*>(env.shared());
    const SortLines& lines = args.keys.lines;
    const uint32_t thread = env.thread(), line = env.block().x, length = lines.length;
    Key keys[kItems] = {};
    uint16_t indices[kHasIndices ? kItems : 1] = {};
    LoadKeys(env, args, shared, line, keys);
    if constexpr (kHasIndices) {
      HLO_UNROLL
      for (int r = 0; r < kItems; ++r) indices[r] = static_cast<uint16_t>(Rank::Item(thread, r));
    }
    for (uint32_t pass = 0; pass < args.passes; ++pass) {
      if (pass > 0) {
        HLO_UNROLL
        for (int r = 0; r < kItems; ++r) {
          keys[r] = shared.keys[Rank::Item(thread, r)];
          if constexpr (kHasIndices) indices[r] = shared.indices[Rank::Item(thread, r)];
        }
      }
      // Items past the end of the line have the last digit and are sorted behind the line.
      uint32_t at[kItems], starts[Rank::kDigitsEach];
      Rank::RankInWarp(
          env, shared.rank,
          [&](int r) {
            const uint32_t digit = args.code.template Digit<true>(keys[r], pass * kRadixBits);
            return Rank::Item(thread, r) < length ? digit : kDigits - 1;
          },
          at);
      Rank::ScatterDigits(env, shared.rank, starts, [](uint32_t, uint32_t) {});
      HLO_UNROLL
      for (int r = 0; r < kItems; ++r) {
        const uint32_t to = Rank::Position(env, shared.rank, at[r]);
        shared.keys[to] = keys[r];
        if constexpr (kHasIndices) shared.indices[to] = indices[r];
      }
      env.sync();
    }
    StoreLine(env, args, shared, line);
  }

 private:
  template <class Env>
  static HLO_DEVICE void LoadKeys(Env& env, const Args& args, Shared& shared, uint32_t line,
                                  Key (&keys)[kItems]) {
    const SortLines& lines = args.keys.lines;
    const KeySource& source = args.keys.sources[0];
    bool unordered = false;
    if (!args.of_elements) {
      for (uint32_t t = env.thread(); t < lines.length; t += kThreads)
        shared.keys[t] = static_cast<Key>(JoinedKey(args.keys, lines.Address(line, t), &unordered));
      env.sync();
      HLO_UNROLL
      for (int r = 0; r < kItems; ++r) keys[r] = shared.keys[Rank::Item(env.thread(), r)];
    } else if (source.byte_count == 1) {
      LoadElements(lines, static_cast<const uint8_t*>(source.data), line, env.thread(), keys);
    } else {
      LoadElements(lines, static_cast<const Key*>(source.data), line, env.thread(), keys);
    }
    if (args.of_elements) {
      HLO_UNROLL
      for (int r = 0; r < kItems; ++r) {
        keys[r] = args.code.Encode(keys[r]);
        if (Rank::Item(env.thread(), r) < lines.length) unordered |= args.code.IsUnordered(keys[r]);
      }
    }
    if (unordered) env.atomic_or(args.keys.unordered, 1);
  }
  template <class Element>
  static HLO_DEVICE void LoadElements(const SortLines& lines, const Element* elements, uint32_t line,
                                      uint32_t thread, Key (&keys)[kItems]) {
    elements += lines.Address(line, 0);
    HLO_UNROLL
    for (int r = 0; r < kItems; ++r) {
      const uint32_t t = Rank::Item(thread, r);
      if (t < lines.length) keys[r] = elements[t * lines.stride()];
    }
  }

  // Stores the sorted line with adjacent elements in adjacent threads.
  template <class Env>
  static HLO_DEVICE void StoreLine(Env& env, const Args& args, Shared& shared, uint32_t line) {
    const SortLines& lines = args.keys.lines;
    const LineResults& results = args.results;
    const int64_t first = results.First(lines, line), stride = results.Stride(lines);
    for (uint32_t t = env.thread(); t < results.kept; t += kThreads) {
      if (args.elements_out != nullptr) {
        const Key bits = args.code.Decode(shared.keys[t]);
        const int64_t i = first + t * stride;
        if (args.keys.sources[0].byte_count == 1)
          static_cast<uint8_t*>(args.elements_out)[i] = static_cast<uint8_t>(bits);
        else
          static_cast<Key*>(args.elements_out)[i] = bits;
      }
      if constexpr (kHasIndices) results.StoreIndex(lines, line, t, shared.indices[t]);
    }
    if constexpr (kHasIndices) {
      for (uint32_t k = 0; k < results.array_count; ++k) {
        const MovedArray& array = results.arrays[k];
        switch (array.width) {
          case 1:
            MoveStaged<uint8_t>(env, args, shared, array, line);
            break;
          case 2:
            MoveStaged<uint16_t>(env, args, shared, array, line);
            break;
          case 4:
            MoveStaged<uint32_t>(env, args, shared, array, line);
            break;
          case 8:
            MoveStaged<uint64_t>(env, args, shared, array, line);
            break;
          default:
            Move<Word16>(env, args, shared, array, line);
        }
      }
    }
  }

  // Copies a line to shared memory, and from there to the sorted positions.
  template <class Word, class Env>
  static HLO_DEVICE void MoveStaged(Env& env, const Args& args, Shared& shared, const MovedArray& array,
                                    uint32_t line) {
    const SortLines& lines = args.keys.lines;
    const Word* in = static_cast<const Word*>(array.in) + lines.Address(line, 0);
    Word* out = static_cast<Word*>(array.out) + args.results.First(lines, line);
    auto* staged = reinterpret_cast<Word*>(&shared.rank);
    env.sync();
    for (uint32_t t = env.thread(); t < lines.length; t += kThreads) staged[t] = in[t * lines.stride()];
    env.sync();
    for (uint32_t t = env.thread(); t < args.results.kept; t += kThreads)
      out[t * args.results.Stride(lines)] = staged[shared.indices[t]];
  }
  template <class Word, class Env>
  static HLO_DEVICE void Move(Env& env, const Args& args, const Shared& shared, const MovedArray& array,
                              uint32_t line) {
    const SortLines& lines = args.keys.lines;
    const Word* in = static_cast<const Word*>(array.in) + lines.Address(line, 0);
    Word* out = static_cast<Word*>(array.out) + args.results.First(lines, line);
    for (uint32_t t = env.thread(); t < args.results.kept; t += kThreads)
      out[t * args.results.Stride(lines)] = in[shared.indices[t] * lines.stride()];
  }
};

// The shapes of thread blocks, for lines of up to threads * items elements.
#define HLO_BLOCK_RADIX_SHAPES(Shape, ...)                                         \
  Shape(64, 8, __VA_ARGS__) Shape(128, 8, __VA_ARGS__) Shape(128, 16, __VA_ARGS__) \
      Shape(256, 16, __VA_ARGS__) Shape(512, 16, __VA_ARGS__)

}  // namespace hlo::cuda
