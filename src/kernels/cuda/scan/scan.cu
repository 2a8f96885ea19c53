#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/reduce/elements.cuh"
#include "kernels/cuda/scan/one_pass_scan_body.h"

HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ScanChunk)
HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ScanColumn)
HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ScanPartials)

namespace hlo::cuda {
template <class E>
using OnePassSum = OnePassScan<E, true>;
template <class E>
using OnePassFold = OnePassScan<E, false>;
}  // namespace hlo::cuda

#define HLO_ONE_PASS_KERNELS(Kernel)                           \
  HLO_CUDA_KERNEL(Kernel<hlo::cuda::IntegerElement<uint32_t>>) \
  HLO_CUDA_KERNEL(Kernel<hlo::cuda::IntegerElement<uint64_t>>) \
  HLO_CUDA_KERNEL_OF_FLOATS(Kernel)

HLO_ONE_PASS_KERNELS(hlo::cuda::OnePassSum)
HLO_ONE_PASS_KERNELS(hlo::cuda::OnePassFold)
