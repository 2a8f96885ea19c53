#pragma once
// Which thread of a block does what in the product of f32 tiles: 128 threads, four warps as 2 x 2, each lane
// with rows and columns in runs of four, so that operands are read from shared memory 16 bytes at a time.

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/portable.h"

namespace hlo::cuda {

template <int kTileRows, int kTileColumns>
struct F32Tile {
  static constexpr int kRows = kTileRows, kColumns = kTileColumns;
  static constexpr int kDepth = 16, kStages = 3;
  static constexpr uint32_t kThreads = 128;
  static constexpr int kThreadRows = kRows / 16, kThreadColumns = kColumns / 8;
  // Shared memory holds [k][row] and [k][column]; four more than a tile is wide, so that eight terms of four
  // rows lie in different banks.
  static constexpr int kPad = 4;
  static constexpr int kStageFloats = kDepth * (kRows + kColumns + 2 * kPad);

  // Row `r` < kThreadRows and column `c` < kThreadColumns of a thread.
  static HLO_DEVICE uint32_t Row(uint32_t thread, int r) {
    return thread / 64 * (kRows / 2) + thread % 32 / 4 * 4 + static_cast<uint32_t>(r / 4 * 32 + r % 4);
  }
  static HLO_DEVICE uint32_t Column(uint32_t thread, int c) {
    return thread / 32 % 2 * (kColumns / 2) + thread % 4 * 4 + static_cast<uint32_t>(c / 4 * 16 + c % 4);
  }
};

// Which elements of a tile of kDepth terms by kWidth rows (of b: columns) each of kThreads threads copies:
// copy `i` < kCount is term K and row Mn (for vectors: the first of kRun).
template <int kWidth, int kDepth, int kThreads>
struct CopyAlongMn {  // Lanes along rows.
  static constexpr int kCount = kWidth * kDepth / kThreads;
  static HLO_DEVICE uint32_t Mn(uint32_t thread, int i) {
    return thread % 32 + 32 * (static_cast<uint32_t>(i) % (kWidth / 32));
  }
  static HLO_DEVICE uint32_t K(uint32_t thread, int i) {
    return thread / 32 + kThreads / 32 * (static_cast<uint32_t>(i) / (kWidth / 32));
  }
};
// kRun lanes along terms, the others along rows: with runs of 32 bytes whole sectors of memory, and all
// banks.
template <int kWidth, int kDepth, int kThreads, int kRun>
struct CopyAlongK {
  static constexpr int kCount = kWidth * kDepth / kThreads, kRows = kThreads / kRun;
  static HLO_DEVICE uint32_t Mn(uint32_t thread, int i) {
    return thread / kRun + kRows * (static_cast<uint32_t>(i) % (kWidth / kRows));
  }
  static HLO_DEVICE uint32_t K(uint32_t thread, int i) {
    return thread % kRun + kRun * (static_cast<uint32_t>(i) / (kWidth / kRows));
  }
};
template <int kWidth, int kDepth, int kThreads, int kRun>
struct CopyVectors {  // kRun rows at a time.
  static constexpr int kCount = kWidth * kDepth / kRun / kThreads;
  static HLO_DEVICE uint32_t Mn(uint32_t thread, int) { return thread % (kWidth / kRun) * kRun; }
  static HLO_DEVICE uint32_t K(uint32_t thread, int i) {
    return thread / (kWidth / kRun) + kThreads * kRun / kWidth * static_cast<uint32_t>(i);
  }
};

}  // namespace hlo::cuda
