// GEMM of bf16, f16 and bytes on Hopper.

#include <cuda.h>
#include <cudaTypedefs.h>

#include "kernels/cuda/gemm/wgmma_gemm_body.h"
#include "kernels/cuda/intrinsics/env.h"
#include "kernels/cuda/launch/launch.cuh"

namespace hlo::cuda {
namespace {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, 1) OnHopper(const __grid_constant__ WgmmaArgs args) {
  DeviceEnv env;
  Kernel::Run(env, args);
}

// Returns the encode function of the driver at run time, so that the build does not link to it; nullptr if
// the driver is too old.
PFN_cuTensorMapEncodeTiled_v12000 Encoder() {
  static const auto encoder = []() -> PFN_cuTensorMapEncodeTiled_v12000 {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault,
                                         &found) != cudaSuccess)
      return nullptr;
    return found == cudaDriverEntryPointSuccess
               ? reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function)
               : nullptr;
  }();
  return encoder;
}

bool Encode(TensorMap* map) {
  const BoxSource& s = map->source;
  const cuuint64_t dims[] = {s.dims[0], s.dims[1], s.dims[2]},
                   strides[] = {s.byte_strides[1], s.byte_strides[2]};
  const cuuint32_t box[] = {s.box[0], s.box[1], s.box[2]}, steps[] = {1, 1, 1};
  static_assert(sizeof(CUtensorMap) == sizeof map->encoded);
  alignas(64) CUtensorMap encoded;
  if (Encoder() == nullptr) return false;
  const CUresult result = Encoder()(
      &encoded, s.element_bytes == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_UINT16, 3,
      const_cast<void*>(s.data), dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  __builtin_memcpy(map->encoded, &encoded, sizeof encoded);
  return result == CUDA_SUCCESS;
}

template <class Kernel>
int LaunchOnHopper(const LaunchShape& shape, const WgmmaArgs& args, CUstream_st* stream) {
  WgmmaArgs with_maps = args;
  if (!Encode(&with_maps.a) || !Encode(&with_maps.b)) return cudaErrorInvalidValue;
  const cudaError_t allowed = cudaFuncSetAttribute(
      OnHopper<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
  if (allowed != cudaSuccess) return allowed;
  OnHopper<Kernel><<<dim3(shape.grid.x), shape.threads, shape.shared_bytes, stream>>>(with_maps);
  return cudaGetLastError();
}

}  // namespace

#define HLO_HOPPER_KERNEL(...)                                                                            \
  template <>                                                                                             \
  int LaunchOnDevice<__VA_ARGS__>(const LaunchShape& shape, const WgmmaArgs& args, CUstream_st* stream) { \
    return LaunchOnHopper<__VA_ARGS__>(shape, args, stream);                                              \
  }

#define HLO_HOPPER_KERNELS_OF_HALVES(kind, columns)         \
  HLO_HOPPER_KERNEL(WgmmaGemm<kind, false, false, columns>) \
  HLO_HOPPER_KERNEL(WgmmaGemm<kind, false, true, columns>)  \
  HLO_HOPPER_KERNEL(WgmmaGemm<kind, true, false, columns>)  \
  HLO_HOPPER_KERNEL(WgmmaGemm<kind, true, true, columns>)

HLO_HOPPER_KERNELS_OF_HALVES(MmaKind::kBF16, 64)
HLO_HOPPER_KERNELS_OF_HALVES(MmaKind::kBF16, 128)
HLO_HOPPER_KERNELS_OF_HALVES(MmaKind::kBF16, 256)
HLO_HOPPER_KERNELS_OF_HALVES(MmaKind::kF16, 64)
HLO_HOPPER_KERNELS_OF_HALVES(MmaKind::kF16, 128)
HLO_HOPPER_KERNELS_OF_HALVES(MmaKind::kF16, 256)
HLO_HOPPER_KERNEL(WgmmaGemm<MmaKind::kE4E4, false, false, 128>)
HLO_HOPPER_KERNEL(WgmmaGemm<MmaKind::kE4E5, false, false, 128>)
HLO_HOPPER_KERNEL(WgmmaGemm<MmaKind::kE5E4, false, false, 128>)
HLO_HOPPER_KERNEL(WgmmaGemm<MmaKind::kE5E5, false, false, 128>)
HLO_HOPPER_KERNEL(WgmmaGemm<MmaKind::kS8S8, false, false, 256>)
HLO_HOPPER_KERNEL(WgmmaGemm<MmaKind::kS8U8, false, false, 256>)
HLO_HOPPER_KERNEL(WgmmaGemm<MmaKind::kU8S8, false, false, 256>)
HLO_HOPPER_KERNEL(WgmmaGemm<MmaKind::kU8U8, false, false, 256>)

}  // namespace hlo::cuda
