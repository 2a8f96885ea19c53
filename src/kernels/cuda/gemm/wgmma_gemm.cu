// GEMM of bf16, f16 and bytes on Hopper.

#include "kernels/cuda/gemm/tensor_map.cuh"
#include "kernels/cuda/gemm/wgmma_gemm_body.h"

namespace hlo::cuda {

#define HLO_WGMMA_KERNELS_OF_HALVES(kind, columns)       \
  HLO_TMA_KERNEL(WgmmaGemm<kind, false, false, columns>) \
  HLO_TMA_KERNEL(WgmmaGemm<kind, false, true, columns>)  \
  HLO_TMA_KERNEL(WgmmaGemm<kind, true, false, columns>)  \
  HLO_TMA_KERNEL(WgmmaGemm<kind, true, true, columns>)

HLO_WGMMA_KERNELS_OF_HALVES(MmaKind::kBF16, 64)
HLO_WGMMA_KERNELS_OF_HALVES(MmaKind::kBF16, 128)
HLO_WGMMA_KERNELS_OF_HALVES(MmaKind::kBF16, 256)
HLO_WGMMA_KERNELS_OF_HALVES(MmaKind::kF16, 64)
HLO_WGMMA_KERNELS_OF_HALVES(MmaKind::kF16, 128)
HLO_WGMMA_KERNELS_OF_HALVES(MmaKind::kF16, 256)
HLO_TMA_KERNEL(WgmmaGemm<MmaKind::kE4E4, false, false, 128>)
HLO_TMA_KERNEL(WgmmaGemm<MmaKind::kE4E5, false, false, 128>)
HLO_TMA_KERNEL(WgmmaGemm<MmaKind::kE5E4, false, false, 128>)
HLO_TMA_KERNEL(WgmmaGemm<MmaKind::kE5E5, false, false, 128>)
HLO_TMA_KERNEL(WgmmaGemm<MmaKind::kS8S8, false, false, 256>)
HLO_TMA_KERNEL(WgmmaGemm<MmaKind::kS8U8, false, false, 256>)
HLO_TMA_KERNEL(WgmmaGemm<MmaKind::kU8S8, false, false, 256>)
HLO_TMA_KERNEL(WgmmaGemm<MmaKind::kU8U8, false, false, 256>)

bool CanEncode(const BoxSource& source) {
  if (!HasEncoder()) return true;
  TensorMap map{.source = source};
  map.source.data = reinterpret_cast<const void*>(uintptr_t{1} << 20);
  return Encode(&map);
}

}  // namespace hlo::cuda
