#pragma once
// The kernels of cholesky and triangular-solve.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"
#include "types/matrix.h"

namespace hlo::cuda {

// Returns nullopt if no kernel supports the instruction.
std::optional<CudaKernel> FindCholeskyKernel(const Instruction& cholesky, const DeviceProperties& device);
std::optional<CudaKernel> FindTriangularSolveKernel(const Instruction& triangular_solve,
                                                    const DeviceProperties& device);

// Returns the kernel that solves a system with the triangle in `operand` and the right sides in the next one.
std::optional<CudaKernel> MakeSolveKernel(const Shape& a, const Shape& b, const Shape& result,
                                          const TriangleOptions& options, int64_t operand,
                                          const DeviceProperties& device);

}  // namespace hlo::cuda
