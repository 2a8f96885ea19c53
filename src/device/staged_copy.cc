#include "device/staged_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/functional/function_ref.h"
#include "base/parallel.h"
#include "base/status.h"

namespace hlo::device {
namespace {

constexpr int kStripes = PieceTransfer::kStripes;
constexpr int64_t kPieceBytes = PieceTransfer::kPieceBytes;

// The piece at `offset`; empty beyond the end.
int64_t LengthAt(int64_t offset, int64_t byte_count) {
  return std::clamp<int64_t>(byte_count - offset, 0, kPieceBytes);
}

// Piece p belongs to stripe p mod kStripes, which alternates between two slots. Calls body(stripe).
absl::Status ForEachStripe(int64_t byte_count, absl::FunctionRef<absl::Status(int)> body) {
  constexpr double kNanosecondsPerByte = 0.09;  // With one thread.
  std::array<absl::Status, kStripes> statuses;
  ParallelFor(kStripes, kNanosecondsPerByte * static_cast<double>(byte_count),
              [&](int64_t stripe) { statuses[stripe] = body(static_cast<int>(stripe)); });
  for (const absl::Status& status : statuses) HLO_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

}  // namespace

absl::Status CopyFromGpu(void* to, int64_t byte_count, PieceTransfer& transfer) {
  return ForEachStripe(byte_count, [&](int stripe) -> absl::Status {
    constexpr int64_t kStep = kPieceBytes * kStripes;
    int64_t offset = kPieceBytes * stripe;
    int slot = 2 * stripe;
    if (offset < byte_count) HLO_RETURN_IF_ERROR(transfer.Start(slot, offset, LengthAt(offset, byte_count)));
    for (; offset < byte_count; offset += kStep, slot ^= 1) {
      if (const int64_t next = offset + kStep; next < byte_count)
        HLO_RETURN_IF_ERROR(transfer.Start(slot ^ 1, next, LengthAt(next, byte_count)));
      HLO_RETURN_IF_ERROR(transfer.Wait(slot));
      std::memcpy(static_cast<std::byte*>(to) + offset, transfer.memory(slot),
                  static_cast<size_t>(LengthAt(offset, byte_count)));
    }
    return absl::OkStatus();
  });
}

absl::Status CopyToGpu(const void* from, int64_t byte_count, PieceTransfer& transfer) {
  return ForEachStripe(byte_count, [&](int stripe) -> absl::Status {
    int slot = 2 * stripe;
    for (int64_t offset = kPieceBytes * stripe; offset < byte_count;
         offset += kPieceBytes * kStripes, slot ^= 1) {
      const int64_t length = LengthAt(offset, byte_count);
      HLO_RETURN_IF_ERROR(transfer.Wait(slot));
      std::memcpy(transfer.memory(slot), static_cast<const std::byte*>(from) + offset,
                  static_cast<size_t>(length));
      HLO_RETURN_IF_ERROR(transfer.Start(slot, offset, length));
    }
    return absl::OkStatus();
  });
}

}  // namespace hlo::device
