// GEMM of f32 in full single precision on Hopper.

#include "kernels/cuda/gemm/f32_tma_gemm_body.h"
#include "kernels/cuda/gemm/tensor_map.cuh"

namespace hlo::cuda {

#define HLO_F32_TMA_KERNELS(Tile)                \
  HLO_TMA_KERNEL(F32TmaGemm<Tile, false, false>) \
  HLO_TMA_KERNEL(F32TmaGemm<Tile, false, true>)  \
  HLO_TMA_KERNEL(F32TmaGemm<Tile, true, false>)  \
  HLO_TMA_KERNEL(F32TmaGemm<Tile, true, true>)

HLO_F32_TMA_KERNELS(F32TmaTile128x128)
HLO_F32_TMA_KERNELS(F32TmaTile128x64)
HLO_F32_TMA_KERNELS(F32TmaTile64x64)
HLO_F32_TMA_KERNELS(F32TmaTile64x32)

}  // namespace hlo::cuda
