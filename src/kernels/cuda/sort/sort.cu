#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/memory/words.h"
#include "kernels/cuda/sort/merge_sort_body.h"
#include "kernels/cuda/sort/network_sort_body.h"
#include "kernels/cuda/sort/permute_body.h"
#include "kernels/cuda/sort/sort_keys_body.h"

HLO_CUDA_KERNEL(hlo::cuda::SortKeysKernel<uint32_t>)
HLO_CUDA_KERNEL(hlo::cuda::SortKeysKernel<uint64_t>)
HLO_CUDA_KERNEL(hlo::cuda::NetworkSort)
HLO_CUDA_KERNEL(hlo::cuda::MergeKernel)
HLO_CUDA_KERNEL(hlo::cuda::PermuteKernel<uint8_t>)
HLO_CUDA_KERNEL(hlo::cuda::PermuteKernel<uint16_t>)
HLO_CUDA_KERNEL(hlo::cuda::PermuteKernel<uint32_t>)
HLO_CUDA_KERNEL(hlo::cuda::PermuteKernel<uint64_t>)
HLO_CUDA_KERNEL(hlo::cuda::PermuteKernel<hlo::cuda::Word16>)
HLO_CUDA_KERNEL(hlo::cuda::TopkKernel<uint8_t>)
HLO_CUDA_KERNEL(hlo::cuda::TopkKernel<uint16_t>)
HLO_CUDA_KERNEL(hlo::cuda::TopkKernel<uint32_t>)
HLO_CUDA_KERNEL(hlo::cuda::TopkKernel<uint64_t>)
