#pragma once
// Simultaneous moves of small buffers in one launch.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "device/stream.h"

namespace hlo::cuda {

struct BufferMove {
  void* to;
  const void* from;
  int64_t byte_count;
};

// True if MoveInOneLaunch supports so many moves, of so many bytes in all, each rounded up to 16.
bool FitsOneLaunch(int64_t count, int64_t padded_bytes);
// Moves all buffers; targets may overlap sources of other moves. Requires FitsOneLaunch.
absl::Status MoveInOneLaunch(absl::Span<const BufferMove> moves, device::Stream stream);

}  // namespace hlo::cuda
