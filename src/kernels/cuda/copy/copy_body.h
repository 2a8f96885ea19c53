#pragma once
// Strided copies: copies, slices, reversals, transposes. If the contiguous dimensions of source and target
// differ, elements pass through tiles in shared memory so that loads and stores are coalesced.

#include "kernels/cuda/intrinsics/portable.h"
#include "kernels/cuda/memory/starts.h"

namespace hlo::cuda {

constexpr uint32_t kCopyThreads = 256, kCopyWords = 4;
constexpr int kMaxCopyStarts = 8;

// A dynamic start index, clamped to [0, max], that offsets the source or the target.
struct CopyStart {
  const void* index = nullptr;
  uint32_t byte_count = 4;
  bool is_signed = true, moves_target = false;
  int64_t max = 0, stride = 0;
};

struct CopyArgs {
  const void* from = nullptr;
  void* to = nullptr;
  int64_t from_offset = 0, to_offset = 0;
  // `operand` is the source and `update` the target. For tiled copies: the dimensions outside the tile.
  Walk walk;
  uint32_t count = 0;
  uint32_t start_count = 0;
  CopyStart starts[kMaxCopyStarts];
  // Tiled copies: `across` has stride 1 in the target, `along` in the source.
  struct TileDim {
    uint32_t size = 1;
    FastDiv tiles;
    int64_t stride = 1;  // Stride in the other array.
  };
  TileDim across, along;
};

struct CopyOffsets {
  int64_t from, to;
};
HLO_DEVICE CopyOffsets OffsetsOf(const CopyArgs& args) {
  CopyOffsets offsets = {args.from_offset, args.to_offset};
  for (uint32_t k = 0; k < args.start_count; ++k) {
    const CopyStart& start = args.starts[k];
    const int64_t index = ReadIndex(start.index, start.byte_count, start.is_signed, 0);
    const int64_t inside = index < 0 ? 0 : index > start.max ? start.max : index;
    (start.moves_target ? offsets.to : offsets.from) += inside * start.stride;
  }
  return offsets;
}

template <class Word>
struct CopyKernel {
  using Args = CopyArgs;
  static constexpr uint32_t kThreads = kCopyThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const CopyOffsets offsets = OffsetsOf(args);
    const Word* from = static_cast<const Word*>(args.from) + offsets.from;
    Word* to = static_cast<Word*>(args.to) + offsets.to;
    const uint32_t first = env.block().x * kCopyThreads * kCopyWords + env.thread();
    Word words[kCopyWords] = {};
    int64_t to_offsets[kCopyWords] = {};
    HLO_UNROLL
    for (uint32_t k = 0; k < kCopyWords; ++k) {
      const uint32_t i = first + k * kCopyThreads;
      if (i >= args.count) continue;
      const WalkOffsets at = args.walk.At(i);
      words[k] = from[at.operand];
      to_offsets[k] = at.update;
    }
    HLO_UNROLL
    for (uint32_t k = 0; k < kCopyWords; ++k) {
      if (first + k * kCopyThreads < args.count) to[to_offsets[k]] = words[k];
    }
  }
};

// Side of a tile in elements, so that rows of narrow elements fill whole memory sectors.
template <class Word>
constexpr uint32_t kCopyTile = sizeof(Word) <= 2 ? 64 : 32;

template <class Word>
struct CopyTilesKernel {
  using Args = CopyArgs;
  static constexpr uint32_t kThreads = kCopyThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    constexpr uint32_t kSide = kCopyTile<Word>, kRows = kCopyThreads / kSide;
    auto* tile = reinterpret_cast<Word*>(env.shared());
    const CopyOffsets offsets = OffsetsOf(args);
    const uint32_t block = env.block().x, rest = args.across.tiles.Quotient(block);
    const uint32_t batch = args.along.tiles.Quotient(rest);
    const uint32_t a = (block - rest * args.across.tiles.divisor) * kSide,
                   b = (rest - batch * args.along.tiles.divisor) * kSide;
    const WalkOffsets at = args.walk.At(batch);
    const Word* from = static_cast<const Word*>(args.from) + offsets.from + at.operand;
    Word* to = static_cast<Word*>(args.to) + offsets.to + at.update;
    const uint32_t column = env.thread() % kSide, row = env.thread() / kSide;
    HLO_UNROLL
    for (uint32_t r = 0; r < kSide; r += kRows) {
      const uint32_t i = a + row + r, j = b + column;
      if (i < args.across.size && j < args.along.size)
        tile[(row + r) * (kSide + 1) + column] = from[i * args.across.stride + j];
    }
    env.sync();
    HLO_UNROLL
    for (uint32_t r = 0; r < kSide; r += kRows) {
      const uint32_t i = a + column, j = b + row + r;
      if (i < args.across.size && j < args.along.size)
        to[j * args.along.stride + i] = tile[column * (kSide + 1) + row + r];
    }
  }
};

// Bitcast between arrays of sub-byte elements, or between those and wider types viewed as bytes. In memory
// each sub-byte element takes a byte, sign-extended if signed.
struct RepackArgs {
  const uint8_t* from = nullptr;
  uint8_t* to = nullptr;
  uint64_t from_count = 0, to_count = 0;  // Bytes in memory.
  uint32_t from_bits = 8, to_bits = 8;    // Significant bits of each byte: 1, 2, 4 or 8.
  bool is_signed = false;
};
struct RepackKernel {
  using Args = RepackArgs;
  static constexpr uint32_t kThreads = kCopyThreads;
  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    const uint64_t i = static_cast<uint64_t>(env.block().x) * env.threads() + env.thread();
    if (i >= args.to_count) return;
    const uint64_t first_bit = i * args.to_bits;
    uint32_t value = 0;
    for (uint32_t bit = 0; bit < args.to_bits; bit += args.from_bits) {
      const uint64_t at = (first_bit + bit) / args.from_bits;
      const uint32_t byte = at < args.from_count ? args.from[at] & ((1u << args.from_bits) - 1) : 0;
      value |= byte >> ((first_bit + bit) % args.from_bits) << bit;
    }
    const uint32_t shift = 8 - args.to_bits;
    const auto high = static_cast<uint8_t>(value << shift);
    args.to[i] = args.is_signed ? static_cast<uint8_t>(static_cast<int8_t>(high) >> shift)
                                : static_cast<uint8_t>(high >> shift);
  }
};

}  // namespace hlo::cuda
