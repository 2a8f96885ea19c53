#pragma once
// Defines the __global__ function of a kernel body in .cu files; see launch.h.

#include <cuda_runtime.h>

#include "kernels/cuda/intrinsics/env.h"
#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

template <class Kernel>
int LaunchOnDevice(const LaunchShape& shape, const typename Kernel::Args& args, CUstream_st* stream);

// Minimum thread blocks per multiprocessor. Without it the compiler spills registers in kernels with function
// calls.
template <class Kernel>
constexpr uint32_t MinBlocksOf() {
  if constexpr (requires { Kernel::kMinBlocks; })
    return Kernel::kMinBlocks;
  else
    return 0;
}

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, MinBlocksOf<Kernel>())
    KernelOnDevice(const __grid_constant__ typename Kernel::Args args) {
  DeviceEnv env;
  Kernel::Run(env, args);
}

// Lets launches of a kernel on the current GPU take all shared memory. A lower limit would be that of one
// launch, but threads that launch the kernel with other sizes, and nodes of a graph, share it.
template <class Args>
cudaError_t AllowAllSharedMemory(void (*kernel)(Args)) {
  int device = 0, bytes = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (const cudaError_t error =
          cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
      error != cudaSuccess)
    return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

template <class Kernel>
int LaunchOnDevice(const LaunchShape& shape, const typename Kernel::Args& args, CUstream_st* stream) {
  if (shape.shared_bytes > (48 << 10)) {
    const cudaError_t allowed = AllowAllSharedMemory(KernelOnDevice<Kernel>);
    if (allowed != cudaSuccess) return allowed;
  }
  KernelOnDevice<Kernel>
      <<<dim3(shape.grid.x, shape.grid.y, shape.grid.z), shape.threads, shape.shared_bytes, stream>>>(args);
  return cudaGetLastError();
}

}  // namespace hlo::cuda

// The arguments are the name of the kernel, which may contain commas.
#define HLO_CUDA_KERNEL(...)                                                                                   \
  template int hlo::cuda::LaunchOnDevice<__VA_ARGS__>(const hlo::cuda::LaunchShape&, const __VA_ARGS__::Args&, \
                                                      CUstream_st*);
