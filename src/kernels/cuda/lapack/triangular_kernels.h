#pragma once
// The kernels of cholesky and triangular-solve.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// Returns nullopt if no kernel supports the instruction.
std::optional<CudaKernel> FindCholeskyKernel(const Instruction& cholesky, const DeviceProperties& device);
std::optional<CudaKernel> FindTriangularSolveKernel(const Instruction& triangular_solve,
                                                    const DeviceProperties& device);

}  // namespace hlo::cuda
