#pragma once
// Contractions: the kernels of a dot or convolution as lists of GEMM launches.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/gemm/gemm_plan.h"
#include "kernels/cuda/gemm/mma_plan.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// True if the GEMM kernels support the types of a dot or convolution.
bool SupportsContraction(const Instruction& contraction);
// Returns the type of the accumulators.
ElementType AccumulatorTypeOf(const Instruction& contraction);

// Appends the launches of a product; uses tensor cores if types and shape allow it. Returns false if no
// kernel fits.
bool AddContraction(const Gemm& gemm, ElementType compute, const std::optional<TensorForm>& form,
                    const DeviceProperties& device, StepList* list);

// Returns a kernel that runs the list. Its operands are the contraction's, followed by the epilogue's arrays.
CudaKernel KernelOf(StepList list);

}  // namespace hlo::cuda
