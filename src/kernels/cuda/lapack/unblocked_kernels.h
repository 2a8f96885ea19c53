#pragma once
// The kernels of custom calls that factor matrices by one reflector after the other.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// geqp3. The operands are (a, pivots), and the results (a, pivots, taus).
std::optional<CudaKernel> FindPivotedQrKernel(const Instruction& call, const DeviceProperties& device);

// gehrd, in rows and columns low to high (from 0). The results start with (a, taus).
std::optional<CudaKernel> FindHessenbergKernel(const Instruction& call, int64_t array, int64_t low,
                                               int64_t high, const DeviceProperties& device);

// sytrd, hetrd. The results start with (a, diagonal, off-diagonal, taus).
std::optional<CudaKernel> FindTridiagonalKernel(const Instruction& call, int64_t array, bool lower,
                                                const DeviceProperties& device);

}  // namespace hlo::cuda
