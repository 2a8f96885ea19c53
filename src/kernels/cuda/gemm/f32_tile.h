#pragma once
// Thread mapping of the f32 GEMM tiles: 128 threads, four warps as 2 x 2. Each lane owns rows and columns in
// runs of four, so that fragments are loaded from shared memory 16 bytes at a time.

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

template <int kTileRows, int kTileColumns>
struct F32Tile {
  static constexpr int kRows = kTileRows, kColumns = kTileColumns;
  static constexpr int kDepth = 16, kStages = 3;
  static constexpr uint32_t kThreads = 128;
  static constexpr int kThreadRows = kRows / 16, kThreadColumns = kColumns / 8;
  // Shared memory stores [k][row] and [k][column]. The pitch is padded by four elements to avoid bank
  // conflicts between eight terms of four rows.
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

// Copy mappings of a tile of kDepth terms by kWidth rows (for b: columns) to kThreads threads. Copy `i` <
// kCount of a thread is the element at term K and row Mn (for vectors: the first of kRun).
template <int kWidth, int kDepth, int kThreads>
struct CopyAlongMn {  // Adjacent lanes copy adjacent rows.
  static constexpr int kCount = kWidth * kDepth / kThreads;
  static HLO_DEVICE uint32_t Mn(uint32_t thread, int i) {
    return thread % 32 + 32 * (static_cast<uint32_t>(i) % (kWidth / 32));
  }
  static HLO_DEVICE uint32_t K(uint32_t thread, int i) {
    return thread / 32 + kThreads / 32 * (static_cast<uint32_t>(i) / (kWidth / 32));
  }
};
// kRun adjacent lanes copy adjacent terms, the others follow the rows: runs of 32 bytes fill whole memory
// sectors and touch all banks.
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
struct CopyVectors {  // Vectorised copies of kRun rows.
  static constexpr int kCount = kWidth * kDepth / kRun / kThreads;
  static HLO_DEVICE uint32_t Mn(uint32_t thread, int) { return thread % (kWidth / kRun) * kRun; }
  static HLO_DEVICE uint32_t K(uint32_t thread, int i) {
    return thread / (kWidth / kRun) + kThreads * kRun / kWidth * static_cast<uint32_t>(i);
  }
};

}  // namespace hlo::cuda
