#pragma once
// Cumulative reductions of rows in one pass over memory. A thread block scans a tile and computes its start
// from earlier tiles. Tiles are in groups of 32. A tile combines the sums of the tiles before it in its group
// by a fixed tree. It adds the start of the group, which the last tile of the previous group publishes. The
// order of all combinations depends on the shape alone, so results do not depend on timing.
//
// Blocks take numbers from a counter, so a tile waits only for tiles whose blocks have started. A value and
// the flag that says that it is valid are one word, because accesses to two words are not ordered.

#include "kernels/cuda/scan/scan_body.h"

namespace hlo::cuda {

constexpr uint32_t kScanGroup = 32;  // Tiles.

struct OnePassScanArgs {
  const void *in = nullptr, *init = nullptr;
  void* out = nullptr;
  // These are zeros before the launch. Words with a flag in the upper half hold the sum of each tile, [lines,
  // tiles], and the start of each group, [lines, groups].
  uint32_t* next_tile = nullptr;
  uint64_t *sums = nullptr, *starts = nullptr;
  int64_t length = 0;
  uint32_t lines = 0, tiles = 1, groups = 1;
  FastDiv tiles_divisor;
  bool reversed = false;  // The length is then a multiple of a vector.
  ReduceOp fold = ReduceOp::kAdd;
  ElementKind kind;
  uint64_t identity[2] = {};  // Identity element of the fold, as a lane.
};

// Lanes of 4 or 8 bytes. kAdds: the fold is addition, known when the kernel is compiled.
template <class E, bool kAdds>
struct OnePassScan {
  using Args = OnePassScanArgs;
  using Stored = typename E::Stored;
  using ComputeType = typename E::ComputeType;
  static_assert(sizeof(ComputeType) == 4 || sizeof(ComputeType) == 8);
  static constexpr uint32_t kThreads = sizeof(ComputeType) == 8 ? 256 : 512,
                            kMinBlocks = sizeof(ComputeType) == 8 ? 3 : 2;
  static constexpr int kEach = 16 / sizeof(Stored), kRows = sizeof(Stored) == 4 && kAdds ? 8
                                                            : sizeof(Stored) == 2        ? 3
                                                                                         : 6;
  static constexpr uint32_t kWarps = kThreads / kWarpSize, kRow = kWarpSize * kEach, kWarpTile = kRow * kRows;
  static constexpr uint32_t kTile = kWarps * kWarpTile;
  static constexpr int kWords = sizeof(ComputeType) / 4;  // Each word has a flag.
  static constexpr size_t kSharedBytes = (kWarps + 2) * 8;

  // Adjacent elements, in words, so that halves stay in registers.
  struct alignas(16) Vector {
    uint32_t words[4];

    HLO_DEVICE Stored At(int k) const {
      if constexpr (sizeof(Stored) == 2) {
        return static_cast<uint16_t>(words[k / 2] >> (k % 2 * 16));
      } else {
        Stored x;
        __builtin_memcpy(&x, words + k * sizeof(Stored) / 4, sizeof x);
        return x;
      }
    }
    HLO_DEVICE void Set(int k, Stored x) {
      if constexpr (sizeof(Stored) == 2)
        words[k / 2] = k % 2 == 0 ? x : words[k / 2] | static_cast<uint32_t>(x) << 16;
      else
        __builtin_memcpy(words + k * sizeof(Stored) / 4, &x, sizeof x);
    }
  };

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    auto* shared =
        reinterpret_cast<uint64_t*>(env.shared());  // Sums of the warps, then the number and the start.
    if (env.thread() == 0) shared[kWarps] = env.atomic_add(args.next_tile, 1);
    env.sync();
    const auto number = static_cast<uint32_t>(shared[kWarps]);
    const uint32_t line = args.tiles_divisor.Quotient(number), tile = number - line * args.tiles;
    const uint32_t warp = env.thread() / kWarpSize, lane = env.thread() % kWarpSize;
    const int64_t first = int64_t{tile} * kTile + warp * kWarpTile + lane * kEach;
    ComputeType values[kRows][kEach];
    Load(args, line, first, values);
    const ComputeType sum = ScanWarp(env, args, lane, values);
    if (lane == 0) Put(&shared[warp], sum);
    env.sync();
    ComputeType before = Identity(args), all = Identity(args);
    for (uint32_t w = 0; w < kWarps; ++w) {
      if (w == warp) before = all;
      all = Combine(args, all, Get(shared[w]));
    }
    if (warp == 0) {
      const ComputeType start = FindStart(env, args, line, tile, lane, all);
      if (lane == 0) Put(&shared[kWarps + 1], start);
    }
    env.sync();
    before = Combine(args, Get(shared[kWarps + 1]), before);
    HLO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      HLO_UNROLL
      for (int k = 0; k < kEach; ++k) values[r][k] = Combine(args, before, values[r][k]);
    }
    Store(args, line, first, values);
  }

 private:
  static HLO_DEVICE ComputeType Combine(const Args& args, ComputeType a, ComputeType b) {
    return E::Combine(kAdds ? ReduceOp::kAdd : args.fold, a, b, args.kind);
  }
  static HLO_DEVICE ComputeType Identity(const Args& args) { return Get(args.identity[0]); }
  static HLO_DEVICE ComputeType Get(uint64_t bits) {
    ComputeType value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  }
  static HLO_DEVICE void Put(uint64_t* to, ComputeType value) {
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    *to = bits;
  }

  // The address of element t of a line; with `width` elements that end there, if the scan is reversed.
  static HLO_DEVICE int64_t Address(const Args& args, uint32_t line, int64_t t, int width) {
    return line * args.length + (args.reversed ? args.length - width - t : t);
  }
  // Reverses a vector if the scan is reversed.
  static HLO_DEVICE void OrientVector(const Args& args, ComputeType (&vector)[kEach]) {
    if (!args.reversed) return;
    HLO_UNROLL
    for (int k = 0; k < kEach / 2; ++k) {
      const ComputeType x = vector[k];
      vector[k] = vector[kEach - 1 - k];
      vector[kEach - 1 - k] = x;
    }
  }
  static HLO_DEVICE void Load(const Args& args, uint32_t line, int64_t first,
                              ComputeType (&values)[kRows][kEach]) {
    const Stored* in = static_cast<const Stored*>(args.in);
    HLO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const int64_t t = first + r * static_cast<int64_t>(kRow);
      if (t + kEach <= args.length) {
        const Vector all = *reinterpret_cast<const Vector*>(in + Address(args, line, t, kEach));
        HLO_UNROLL
        for (int k = 0; k < kEach; ++k) values[r][k] = E::Load(all.At(k), args.kind);
        OrientVector(args, values[r]);
      } else {
        HLO_UNROLL
        for (int k = 0; k < kEach; ++k)
          values[r][k] =
              t + k < args.length ? E::Load(in[Address(args, line, t + k, 1)], args.kind) : Identity(args);
      }
    }
  }
  static HLO_DEVICE void Store(const Args& args, uint32_t line, int64_t first,
                               const ComputeType (&values)[kRows][kEach]) {
    Stored* out = static_cast<Stored*>(args.out);
    HLO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const int64_t t = first + r * static_cast<int64_t>(kRow);
      if (t + kEach <= args.length) {
        ComputeType row[kEach];
        HLO_UNROLL
        for (int k = 0; k < kEach; ++k) row[k] = values[r][k];
        OrientVector(args, row);
        Vector all;
        HLO_UNROLL
        for (int k = 0; k < kEach; ++k) all.Set(k, E::Store(row[k], args.kind));
        *reinterpret_cast<Vector*>(out + Address(args, line, t, kEach)) = all;
      } else {
        HLO_UNROLL
        for (int k = 0; k < kEach; ++k) {
          if (t + k < args.length) out[Address(args, line, t + k, 1)] = E::Store(values[r][k], args.kind);
        }
      }
    }
  }

  // Scans the rows of a warp, one after the other. Returns the sum of all.
  template <class Env>
  static HLO_DEVICE ComputeType ScanWarp(Env& env, const Args& args, uint32_t lane,
                                         ComputeType (&values)[kRows][kEach]) {
    ComputeType carry = Identity(args);
    HLO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      HLO_UNROLL
      for (int k = 1; k < kEach; ++k) values[r][k] = Combine(args, values[r][k - 1], values[r][k]);
      ComputeType sum = values[r][kEach - 1];
      HLO_UNROLL
      for (uint32_t d = 1; d < kWarpSize; d *= 2) {
        const ComputeType other = env.shfl_up(sum, static_cast<int>(d));
        if (lane >= d) sum = Combine(args, other, sum);
      }
      const ComputeType left = env.shfl_up(sum, 1);
      const ComputeType before = lane == 0 ? carry : Combine(args, carry, left);
      HLO_UNROLL
      for (int k = 0; k < kEach; ++k) values[r][k] = Combine(args, before, values[r][k]);
      carry = Combine(args, carry, env.shfl(sum, kWarpSize - 1));
    }
    return carry;
  }

  template <class Env>
  static HLO_DEVICE void Publish(Env& env, uint64_t* to, ComputeType value) {
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    HLO_UNROLL
    for (int w = 0; w < kWords; ++w)
      env.store_volatile(to + w, uint64_t{1} << 32 | (bits >> (32 * w) & 0xffffffffu));
  }
  template <class Env>
  static HLO_DEVICE ComputeType Await(Env& env, const uint64_t* from) {
    uint64_t bits = 0;
    HLO_UNROLL
    for (int w = 0; w < kWords; ++w) {
      uint64_t word = env.load_volatile(from + w);
      while (word >> 32 == 0) word = env.load_volatile(from + w);
      bits |= (word & 0xffffffffu) << (32 * w);
    }
    return Get(bits);
  }

  // Returns the reduction of the initial value and all tiles before this one. Run by one warp.
  template <class Env>
  static HLO_DEVICE ComputeType FindStart(Env& env, const Args& args, uint32_t line, uint32_t tile,
                                          uint32_t lane, ComputeType sum) {
    const uint32_t group = tile / kScanGroup, in_group = tile % kScanGroup;
    uint64_t* sums = args.sums + (static_cast<int64_t>(line) * args.tiles + tile - in_group) * kWords;
    uint64_t* starts = args.starts + (static_cast<int64_t>(line) * args.groups + group) * kWords;
    if (lane == 0 && tile + 1 < args.tiles) Publish(env, sums + in_group * kWords, sum);
    ComputeType before = lane < in_group ? Await(env, sums + lane * kWords) : Identity(args);
    // Lane 0 combines the lanes in order.
    HLO_UNROLL
    for (uint32_t d = 1; d < kWarpSize; d *= 2) {
      const ComputeType right = env.shfl_down(before, static_cast<int>(d));
      if (lane % (2 * d) == 0) before = Combine(args, before, right);
    }
    ComputeType start = Identity(args);
    if (lane == 0) {
      start = group == 0 ? E::Load(*static_cast<const Stored*>(args.init), args.kind) : Await(env, starts);
      start = Combine(args, start, before);
      if (in_group + 1 == kScanGroup && group + 1 < args.groups)
        Publish(env, starts + kWords, Combine(args, start, sum));
    }
    return env.shfl(start, 0);
  }
};

}  // namespace hlo::cuda
