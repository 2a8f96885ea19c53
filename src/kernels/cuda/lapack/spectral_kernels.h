#pragma once
// The kernels of eigenvalues of Hermitian matrices (syevd, heevd) and of singular values (gesdd).

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// The results are (v, w) or (v, w, info) for the matrix in operand `array`, of which one triangle is read.
std::optional<CudaKernel> FindEigenKernel(const Instruction& call, int64_t array, bool lower,
                                          const DeviceProperties& device);

// The results are (unused, s, u, v or its adjoint, info); u and v are zero without `vectors`.
struct SingularValueCall {
  int64_t array = 0;
  bool vectors = true, adjoint = true;
};
std::optional<CudaKernel> FindSingularValueKernel(const Instruction& call, const SingularValueCall& form,
                                                  const DeviceProperties& device);

}  // namespace hlo::cuda
