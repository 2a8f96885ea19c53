#pragma once
// Selects the kernel of an instruction on whole arrays.

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "hlo_run/module.h"
#include "kernels/cpu/bytecode/small_dot.h"
#include "kernels/cpu/convolution/convolution.h"
#include "plan/kernel.h"

namespace hlo::plan {

// Returns an empty kernel if only the reference supports the instruction.
LibraryKernel FindLibraryKernel(const Instruction& instruction);

// Returns the parameters of a convolution.
cpu::ConvolutionDims ConvolutionDimsOf(const Instruction& convolution);

// Returns an empty kernel if the instruction is not a dot or convolution with a GEMM kernel.
ProductKernel FindProductKernel(const Instruction& instruction);

// Returns the dot that the kernel "small dot" computes.
std::optional<cpu::SmallDot> FindSmallDot(const Instruction& dot);

// The selection by family of instructions.
LibraryKernel FindFactorKernel(const Instruction& instruction);  // cholesky, triangular-solve.
LibraryKernel FindMatrixCallKernel(const Instruction& call);     // Calls of LAPACK and similar libraries.
// Return the scratch memory of these kernels in bytes.
int64_t FactorMemory(const Instruction& instruction);
int64_t MatrixCallMemory(const Instruction& call, absl::FunctionRef<bool(int)> needs_result);
LibraryKernel FindGatherKernel(const Instruction& gather);
LibraryKernel FindScatterKernel(const Instruction& scatter);
LibraryKernel FindBatchNormKernel(const Instruction& batch_norm);
LibraryKernel FindScanKernel(const Instruction& scan);
LibraryKernel FindReduceWindowKernel(const Instruction& reduce_window);
LibraryKernel FindSelectAndScatterKernel(const Instruction& select_and_scatter);
LibraryKernel FindSortKernel(const Instruction& sort);
LibraryKernel FindRandomBitsKernel(const Instruction& rng_bit_generator);
LibraryKernel FindTopkKernel(const Instruction& topk, bool largest);
LibraryKernel FindTopkCallKernel(const Instruction& call);  // The custom call, with a comparator.

}  // namespace hlo::plan
