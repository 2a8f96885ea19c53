#pragma once
// Tensor maps for the driver, and launches of kernels whose operands TMA copies.

#include <cuda.h>
#include <cudaTypedefs.h>

#include "kernels/cuda/gemm/tma_gemm_args.h"
#include "kernels/cuda/intrinsics/env.h"
#include "kernels/cuda/launch/launch.cuh"

namespace hlo::cuda {
template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, Kernel::kMinBlocks)
    OnHopper(const __grid_constant__ TmaGemmArgs args) {
  DeviceEnv env;
  Kernel::Run(env, args);
}

// Returns a function of the driver at run time, so that the build does not link to it; nullptr if the driver
// is too old.
template <class Function>
Function DriverFunction(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  if (cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found) != cudaSuccess)
    return nullptr;
  return found == cudaDriverEntryPointSuccess ? reinterpret_cast<Function>(function) : nullptr;
}

inline bool HasEncoder() {
  static const bool has =
      DriverFunction<PFN_cuTensorMapEncodeIm2col_v12000>("cuTensorMapEncodeIm2col") != nullptr;
  return has;
}

// Encodes the map for the driver. Returns false if the driver is too old or refuses it.
inline bool Encode(TensorMap* map) {
  static const auto tiled = DriverFunction<PFN_cuTensorMapEncodeTiled_v12000>("cuTensorMapEncodeTiled");
  static const auto im2col = DriverFunction<PFN_cuTensorMapEncodeIm2col_v12000>("cuTensorMapEncodeIm2col");
  if (tiled == nullptr || im2col == nullptr) return false;
  const BoxSource& s = map->source;
  cuuint64_t dims[BoxSource::kMaxRank], strides[BoxSource::kMaxRank];
  cuuint32_t box[BoxSource::kMaxRank], steps[BoxSource::kMaxRank] = {1, 1, 1, 1};
  for (uint32_t d = 0; d < BoxSource::kMaxRank; ++d) {
    dims[d] = s.dims[d];
    strides[d] = s.byte_strides[d];
    box[d] = s.box[d];
  }
  const CUtensorMapDataType type = s.element_bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                   : s.element_bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                                          : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  const CUtensorMapSwizzle swizzle = s.swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE;
  static_assert(sizeof(CUtensorMap) == sizeof map->encoded);
  alignas(64) CUtensorMap encoded;
  CUresult result;
  if (s.im2col) {
    steps[1] = s.traversal_stride[0];
    steps[2] = s.traversal_stride[1];
    result = im2col(&encoded, type, s.rank, const_cast<void*>(s.data), dims, strides + 1, s.lower_corner,
                    s.upper_corner, s.box[0], s.box[1], steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                    CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  } else {
    result = tiled(&encoded, type, s.rank, const_cast<void*>(s.data), dims, strides + 1, box, steps,
                   CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  }
  __builtin_memcpy(map->encoded, &encoded, sizeof encoded);
  return result == CUDA_SUCCESS;
}

template <class Kernel>
int LaunchOnHopper(const LaunchShape& shape, const TmaGemmArgs& args, CUstream_st* stream) {
  TmaGemmArgs with_maps = args;
  if (!Encode(&with_maps.a) || !Encode(&with_maps.b)) return cudaErrorInvalidValue;
  const cudaError_t allowed = cudaFuncSetAttribute(
      OnHopper<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
  if (allowed != cudaSuccess) return allowed;
  OnHopper<Kernel><<<dim3(shape.grid.x), shape.threads, shape.shared_bytes, stream>>>(with_maps);
  return cudaGetLastError();
}

#define HLO_TMA_KERNEL(...)                                                                                 \
  template <>                                                                                               \
  int LaunchOnDevice<__VA_ARGS__>(const LaunchShape& shape, const TmaGemmArgs& args, CUstream_st* stream) { \
    return LaunchOnHopper<__VA_ARGS__>(shape, args, stream);                                                \
  }

}  // namespace hlo::cuda
