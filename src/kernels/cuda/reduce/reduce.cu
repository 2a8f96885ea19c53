#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/reduce/elements.cuh"
#include "kernels/cuda/reduce/reduce_body.h"

#define HLO_CUDA_KERNELS_OF_FOLD(F)         \
  HLO_CUDA_KERNEL(hlo::cuda::ReduceRows<F>) \
  HLO_CUDA_KERNEL(hlo::cuda::ReduceColumns<F>)

namespace hlo::cuda {
template <class E>
using RowsOf = ReduceRows<PlainReduction<E>>;
template <class E>
using ColumnsOf = ReduceColumns<PlainReduction<E>>;
}  // namespace hlo::cuda

HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::RowsOf)
HLO_CUDA_KERNEL_OF_ELEMENTS(hlo::cuda::ColumnsOf)
HLO_CUDA_KERNELS_OF_FOLD(hlo::cuda::WideSum<hlo::cuda::HalfElement>)
HLO_CUDA_KERNELS_OF_FOLD(hlo::cuda::WideSum<hlo::cuda::FloatElement<float>>)
