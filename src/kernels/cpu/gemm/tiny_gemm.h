#pragma once
// This file multiplies batches of matrices so small that packing would take longer than the product.

#include "kernels/cpu/gemm/gemm.h"

namespace hlo::cpu {

// Computes the problem and returns true if its matrices are f32 or f64 throughout, small, in memory, and
// without an epilogue. Otherwise returns false and writes nothing. Each sum is accumulated sequentially in
// the order of k.
bool TinyGemm(const GemmProblem& problem);

}  // namespace hlo::cpu
