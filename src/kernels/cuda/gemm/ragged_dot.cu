#include "kernels/cuda/gemm/ragged_dot_body.h"
#include "kernels/cuda/launch/launch.cuh"

HLO_CUDA_KERNEL(hlo::cuda::RaggedGroups)
HLO_CUDA_KERNEL(hlo::cuda::RaggedGemm<float>)
HLO_CUDA_KERNEL(hlo::cuda::RaggedGemm<double>)
HLO_CUDA_KERNEL(hlo::cuda::RaggedGemm<uint32_t>)
HLO_CUDA_KERNEL(hlo::cuda::RaggedGemm<uint64_t>)
HLO_CUDA_KERNEL(hlo::cuda::RaggedGemm<hlo::cuda::ComplexNumber<float>>)
HLO_CUDA_KERNEL(hlo::cuda::RaggedGemm<hlo::cuda::ComplexNumber<double>>)
