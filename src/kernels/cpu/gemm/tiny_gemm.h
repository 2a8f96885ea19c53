#pragma once
// Batches of products so small that packing their operands would take longer than multiplying them.

#include "kernels/cpu/gemm/gemm.h"

namespace hlo::cpu {

// Carries the problem out, if its matrices are f32 or f64 throughout, small, in memory, and without an
// epilogue; false, and nothing is written, otherwise. Each sum is one chain in the order of k.
bool TinyGemm(const GemmProblem& problem);

}  // namespace hlo::cpu
