// Launches the f32 GEMM of Hopper.

#include "kernels/cuda/emulator/tma_emulation.h"
#include "kernels/cuda/gemm/f32_tma_gemm_body.h"
#include "kernels/cuda/gemm/gemm_kernels.h"
#include "kernels/cuda/launch/launch.h"

namespace hlo::cuda {

size_t F32TmaSharedBytes(F32TmaTileSize size) {
  switch (size) {
    case F32TmaTileSize::k128x128:
      return F32TmaTile128x128::kSharedBytes;
    case F32TmaTileSize::k128x64:
      return F32TmaTile128x64::kSharedBytes;
    case F32TmaTileSize::k64x64:
      return F32TmaTile64x64::kSharedBytes;
    case F32TmaTileSize::k64x32:
      break;
  }
  return F32TmaTile64x32::kSharedBytes;
}

#if defined(HLO_RUN_HAS_CUDA) && !defined(HLO_RUN_HAS_SM90A)

absl::Status LaunchF32Tma(F32TmaTileSize, bool, bool, const TmaGemmArgs&, device::Stream) {
  return absl::UnimplementedError("this build was not compiled for compute capability 9.0a");
}

#else

namespace {

template <class Tile>
absl::Status LaunchTile(bool a_is_mn_major, bool b_is_mn_major, const TmaGemmArgs& args,
                        device::Stream stream) {
  const LaunchShape shape{Dim3{args.blocks}, Tile::kThreads, Tile::kSharedBytes};
  if (a_is_mn_major)
    return b_is_mn_major ? Launch<F32TmaGemm<Tile, true, true> >(shape, args, stream)
                         : Launch<F32TmaGemm<Tile, true, false> >(shape, args, stream);
  return b_is_mn_major ? Launch<F32TmaGemm<Tile, false, true> >(shape, args, stream)
                       : Launch<F32TmaGemm<Tile, false, false> >(shape, args, stream);
}

}  // namespace

absl::Status LaunchF32Tma(F32TmaTileSize size, bool a_is_mn_major, bool b_is_mn_major,
                          const TmaGemmArgs& args, device::Stream stream) {
  switch (size) {
    case F32TmaTileSize::k128x128:
      return LaunchTile<F32TmaTile128x128>(a_is_mn_major, b_is_mn_major, args, stream);
    case F32TmaTileSize::k128x64:
      return LaunchTile<F32TmaTile128x64>(a_is_mn_major, b_is_mn_major, args, stream);
    case F32TmaTileSize::k64x64:
      return LaunchTile<F32TmaTile64x64>(a_is_mn_major, b_is_mn_major, args, stream);
    case F32TmaTileSize::k64x32:
      break;
  }
  return LaunchTile<F32TmaTile64x32>(a_is_mn_major, b_is_mn_major, args, stream);
}

#endif

}  // namespace hlo::cuda
