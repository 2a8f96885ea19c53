#pragma once
// The kernels of custom calls that factor matrices or solve systems.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// A call in LAPACK's terms. The matrix is operand `array`.
struct FactorisationCall {
  enum class Function : uint8_t { kPotrf, kGetrf, kLuDecomposition, kGeqrf, kOrgqr, kOrmqr };
  Function function;
  int64_t array = 0;
  bool lower = true;                  // Used by kPotrf.
  int64_t info = 1;                   // kPotrf: the number of the result that reports failures.
  bool left = true, adjoint = false;  // Used by kOrmqr.
};

// Returns nullopt if no kernel supports the call. Results that the function does not define are zero.
std::optional<CudaKernel> FindFactorisationKernel(const Instruction& call, const FactorisationCall& form,
                                                  const DeviceProperties& device);

// Converts row exchanges, counted from 0, to permutations.
std::optional<CudaKernel> FindPermutationKernel(const Instruction& call);

// gtsv. The operands are (below, diagonal, above, right sides), and so are the results, before info.
std::optional<CudaKernel> FindGtsvKernel(const Instruction& call, const DeviceProperties& device);

// Solves as gtsv; the only result is the solution. That of a singular system is NaN.
std::optional<CudaKernel> FindTridiagonalSolveKernel(const Instruction& call, const DeviceProperties& device);

}  // namespace hlo::cuda
