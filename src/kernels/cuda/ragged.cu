#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/ragged_body.h"

HLO_CUDA_KERNEL(hlo::cuda::RaggedGroups)
HLO_CUDA_KERNEL(hlo::cuda::RaggedProduct<float>)
HLO_CUDA_KERNEL(hlo::cuda::RaggedProduct<double>)
HLO_CUDA_KERNEL(hlo::cuda::RaggedProduct<uint32_t>)
HLO_CUDA_KERNEL(hlo::cuda::RaggedProduct<uint64_t>)
HLO_CUDA_KERNEL(hlo::cuda::RaggedProduct<hlo::cuda::ComplexNumber<float>>)
HLO_CUDA_KERNEL(hlo::cuda::RaggedProduct<hlo::cuda::ComplexNumber<double>>)
