#include "kernels/cuda/copy/moves.h"

#include "base/arithmetic.h"
#include "kernels/cuda/copy/moves_body.h"
#include "kernels/cuda/launch/launch.h"

namespace hlo::cuda {

bool FitsOneLaunch(int64_t count, int64_t padded_bytes) {
  return count <= MovesArgs::kMaxMoves && padded_bytes <= MovesArgs::kMaxBytes;
}

absl::Status MoveInOneLaunch(absl::Span<const BufferMove> moves, device::Stream stream) {
  MovesArgs args;
  uint32_t staged = 0;
  for (const BufferMove& move : moves) {
    if (move.byte_count == 0 || move.to == move.from) continue;
    const auto byte_count = static_cast<uint32_t>(move.byte_count);
    args.moves[args.count++] = {move.to, move.from, byte_count, staged};
    staged += RoundUp(byte_count, 16);
  }
  if (args.count == 0) return absl::OkStatus();
  return Launch<MovesKernel>({{1}, MovesKernel::kThreads, staged}, args, stream);
}

}  // namespace hlo::cuda
