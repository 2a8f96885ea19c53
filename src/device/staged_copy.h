#pragma once
// Copies between pageable memory and a GPU through small pieces of pinned memory: several threads copy pieces
// while other pieces are transferred.

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace hlo::device {

// Transfers between slots of pinned memory and the GPU. A slot is used by one thread at a time.
class PieceTransfer {
 public:
  static constexpr int kStripes = 4, kSlots = 2 * kStripes;
  static constexpr int64_t kPieceBytes = 256 << 10;

  virtual ~PieceTransfer() = default;
  virtual std::byte* memory(int slot) = 0;
  // Enqueues the transfer of a piece at this offset of the array.
  virtual absl::Status Start(int slot, int64_t offset, int64_t byte_count) = 0;
  // Waits for the latest transfer of the slot, which may be one of an earlier copy.
  virtual absl::Status Wait(int slot) = 0;
};

// Copies from the GPU; returns when all bytes have arrived.
absl::Status CopyFromGpu(void* to, int64_t byte_count, PieceTransfer& transfer);
// Copies to the GPU; returns when all bytes have been read; transfers may still be in progress.
absl::Status CopyToGpu(const void* from, int64_t byte_count, PieceTransfer& transfer);

}  // namespace hlo::device
