#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/fold_body.h"
#include "kernels/cuda/launch.cuh"

#define HLO_CUDA_KERNELS_OF_FOLD(F)     \
  HLO_CUDA_KERNEL(hlo::cuda::FoldRows<F>) \
  HLO_CUDA_KERNEL(hlo::cuda::FoldColumns<F>)

namespace hlo::cuda {
template <class E>
using RowsOf = FoldRows<PlainFold<E>>;
template <class E>
using ColumnsOf = FoldColumns<PlainFold<E>>;
}  // namespace hlo::cuda

HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::RowsOf)
HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ColumnsOf)
HLO_CUDA_KERNELS_OF_FOLD(hlo::cuda::WideSum<hlo::cuda::HalfElement>)
HLO_CUDA_KERNELS_OF_FOLD(hlo::cuda::WideSum<hlo::cuda::FloatElement<float>>)
