#pragma once
// Cumulative reductions of lines [outer, length, inner] along the middle dimension, for associative
// operations. Chunks of a fixed length are reduced, and the partial results are scanned in order. Then each
// chunk is scanned from its prefix.

#include <type_traits>

#include "kernels/cuda/intrinsics/block_scan.h"
#include "kernels/cuda/intrinsics/fast_div.h"
#include "kernels/cuda/reduce/reduce_op.h"

namespace hlo::cuda {

constexpr uint32_t kScanThreads = 256, kScanItems = 8, kScanChunk = kScanThreads * kScanItems;
constexpr uint32_t kColumnChunk = 256;

struct ScanArgs {
  const void *in = nullptr, *init = nullptr;
  void* out = nullptr;
  // [lines, chunks]: partial results, then the prefix of each chunk; in the fold's compute type.
  void* partials = nullptr;
  int64_t length = 0, inner = 1;
  uint32_t lines = 0, chunks = 1, chunk = kScanChunk;
  FastDiv inner_divisor, chunks_divisor;
  // `apply`: scans elements from their prefixes; otherwise reduces chunks.
  bool reversed = false, apply = false;
  ReduceOp fold = ReduceOp::kAdd;
  ElementKind kind;
  uint64_t identity[2] = {};  // Identity element of the fold, as a lane.
};

// Lanes are widened to at least 4 bytes, which shuffles require.
template <class E>
struct ScanOf {
  using ComputeType = typename E::ComputeType;
  using Wide = std::conditional_t<sizeof(ComputeType) < 4, uint32_t, ComputeType>;
  const ScanArgs& args;

  HLO_DEVICE Wide Combine(Wide a, Wide b) const {
    return static_cast<Wide>(
        E::Combine(args.fold, static_cast<ComputeType>(a), static_cast<ComputeType>(b), args.kind));
  }
  HLO_DEVICE Wide Identity() const {
    ComputeType lane;
    __builtin_memcpy(&lane, args.identity, sizeof lane);
    return static_cast<Wide>(lane);
  }
  HLO_DEVICE Wide Init() const {
    return static_cast<Wide>(E::Load(*static_cast<const typename E::Stored*>(args.init), args.kind));
  }
  HLO_DEVICE int64_t Address(uint32_t line, int64_t t) const {
    const uint32_t outer = args.inner_divisor.Quotient(line);
    const int64_t along = args.reversed ? args.length - 1 - t : t;
    return (outer * args.length + along) * args.inner + (line - outer * static_cast<uint32_t>(args.inner));
  }
  HLO_DEVICE Wide At(uint32_t line, int64_t t) const {
    return static_cast<Wide>(
        E::Load(static_cast<const typename E::Stored*>(args.in)[Address(line, t)], args.kind));
  }
  HLO_DEVICE void Set(uint32_t line, int64_t t, Wide value) const {
    static_cast<typename E::Stored*>(args.out)[Address(line, t)] =
        E::Store(static_cast<ComputeType>(value), args.kind);
  }
  HLO_DEVICE Wide* Partials() const { return static_cast<Wide*>(args.partials); }
};

// Reduces or scans one chunk per thread block.
template <class E>
struct ScanChunk {
  using Args = ScanArgs;
  static constexpr uint32_t kThreads = kScanThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const ScanOf<E> scan{args};
    using Wide = typename ScanOf<E>::Wide;
    auto* scratch = reinterpret_cast<Wide*>(env.shared());
    const uint32_t block = env.block().x, line = args.chunks_divisor.Quotient(block);
    const int64_t first = int64_t{block - line * args.chunks} * kScanChunk + env.thread() * kScanItems;
    Wide items[kScanItems];
    Wide sum = scan.Identity();
    for (uint32_t k = 0; k < kScanItems; ++k) {
      items[k] = first + k < args.length ? scan.At(line, first + k) : scan.Identity();
      sum = scan.Combine(sum, items[k]);
    }
    Wide before = args.chunks == 1 ? scan.Init() : args.apply ? scan.Partials()[block] : scan.Identity();
    before = ExclusiveScan(env, sum, before, scratch, [&](Wide a, Wide b) { return scan.Combine(a, b); });
    if (args.apply) {
      for (uint32_t k = 0; k < kScanItems; ++k) {
        before = scan.Combine(before, items[k]);
        if (first + k < args.length) scan.Set(line, first + k, before);
      }
    } else if (env.thread() == 0) {
      scan.Partials()[block] = scratch[kScanThreads / kWarpSize];
    }
  }
};

// The same for adjacent lines, with one thread per line of a chunk.
template <class E>
struct ScanColumn {
  using Args = ScanArgs;
  static constexpr uint32_t kThreads = kScanThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const ScanOf<E> scan{args};
    const uint32_t i = env.block().x * env.threads() + env.thread(), chunk = env.block().y;
    if (i >= args.lines) return;
    const int64_t first = int64_t{chunk} * args.chunk,
                  last = args.length - first < args.chunk ? args.length : first + args.chunk;
    auto* partial = scan.Partials() + static_cast<int64_t>(i) * args.chunks + chunk;
    auto value = args.chunks == 1 ? scan.Init() : args.apply ? *partial : scan.Identity();
    for (int64_t t = first; t < last; ++t) {
      value = scan.Combine(value, scan.At(i, t));
      if (args.apply) scan.Set(i, t, value);
    }
    if (!args.apply) *partial = value;
  }
};

// Scans the partial results of one line per thread block into prefixes.
template <class E>
struct ScanPartials {
  using Args = ScanArgs;
  static constexpr uint32_t kThreads = kScanThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const ScanOf<E> scan{args};
    using Wide = typename ScanOf<E>::Wide;
    auto* scratch = reinterpret_cast<Wide*>(env.shared());
    Wide* partials = scan.Partials() + static_cast<int64_t>(env.block().x) * args.chunks;
    Wide before = scan.Init();
    for (uint32_t first = 0; first < args.chunks; first += env.threads()) {
      const uint32_t i = first + env.thread();
      const Wide sum = i < args.chunks ? partials[i] : scan.Identity();
      const Wide mine =
          ExclusiveScan(env, sum, before, scratch, [&](Wide a, Wide b) { return scan.Combine(a, b); });
      if (i < args.chunks) partials[i] = mine;
      before = scratch[env.threads() / kWarpSize];
      env.sync();
    }
  }
};

}  // namespace hlo::cuda
