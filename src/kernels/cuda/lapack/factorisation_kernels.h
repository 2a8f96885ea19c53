#pragma once
// The kernels of custom calls that factor matrices.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// A call in LAPACK's terms. The matrix is operand `array`.
struct FactorisationCall {
  enum class Function : uint8_t { kPotrf, kGetrf, kGeqrf, kOrgqr, kOrmqr };
  Function function;
  int64_t array = 0;
  bool lower = true;                  // Used by kPotrf.
  bool left = true, adjoint = false;  // Used by kOrmqr.
};

// Returns nullopt if no kernel supports the call. Results that the function does not define are zero.
std::optional<CudaKernel> FindFactorisationKernel(const Instruction& call, const FactorisationCall& form,
                                                  const DeviceProperties& device);

}  // namespace hlo::cuda
