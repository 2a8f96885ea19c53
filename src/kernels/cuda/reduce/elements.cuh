#pragma once
// Macros for .cu files that instantiate a kernel for every element type of match_reduce_op.h.

#define HLO_CUDA_KERNEL_OF_INTEGERS(Kernel)                    \
  HLO_CUDA_KERNEL(Kernel<hlo::cuda::IntegerElement<uint8_t>>)  \
  HLO_CUDA_KERNEL(Kernel<hlo::cuda::IntegerElement<uint16_t>>) \
  HLO_CUDA_KERNEL(Kernel<hlo::cuda::IntegerElement<uint32_t>>) \
  HLO_CUDA_KERNEL(Kernel<hlo::cuda::IntegerElement<uint64_t>>)
#define HLO_CUDA_KERNEL_OF_FLOATS(Kernel)                 \
  HLO_CUDA_KERNEL(Kernel<hlo::cuda::HalfElement>)         \
  HLO_CUDA_KERNEL(Kernel<hlo::cuda::FloatElement<float>>) \
  HLO_CUDA_KERNEL(Kernel<hlo::cuda::FloatElement<double>>)
#define HLO_CUDA_KERNEL_OF_COMPLEX(Kernel)                  \
  HLO_CUDA_KERNEL(Kernel<hlo::cuda::ComplexElement<float>>) \
  HLO_CUDA_KERNEL(Kernel<hlo::cuda::ComplexElement<double>>)
#define HLO_CUDA_KERNEL_OF_ELEMENTS(Kernel) \
  HLO_CUDA_KERNEL_OF_INTEGERS(Kernel)       \
  HLO_CUDA_KERNEL_OF_FLOATS(Kernel)         \
  HLO_CUDA_KERNEL_OF_COMPLEX(Kernel)
