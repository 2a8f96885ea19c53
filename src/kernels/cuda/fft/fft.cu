#include "kernels/cuda/fft/fft_body.h"
#include "kernels/cuda/fft/fft_power_of_two_body.h"
#include "kernels/cuda/launch/launch.cuh"

HLO_CUDA_KERNEL(hlo::cuda::FftF32)
HLO_CUDA_KERNEL(hlo::cuda::FftF32Wide)
HLO_CUDA_KERNEL(hlo::cuda::FftF64)
HLO_CUDA_KERNEL(hlo::cuda::FftF64Wide)
HLO_CUDA_KERNEL(hlo::cuda::FftHalfF32)
HLO_CUDA_KERNEL(hlo::cuda::FftHalfF64)

#define HLO_FFT_KERNEL(T, access, ...) \
  HLO_CUDA_KERNEL(hlo::cuda::FftPowerOfTwo<T, hlo::cuda::FftAccess::access, __VA_ARGS__>)
#include "kernels/cuda/fft/fft_power_of_two.def"
