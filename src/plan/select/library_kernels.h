#pragma once
// Instructions that one kernel of src/kernels computes, on whole arrays.

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "hlo_run/module.h"
#include "kernels/cpu/bytecode/small_dot.h"
#include "kernels/cpu/convolution/convolution.h"
#include "plan/kernel.h"

namespace hlo::plan {

// No function where none takes the instruction: then the reference does.
LibraryKernel FindLibraryKernel(const Instruction& instruction);

// What a convolution's attributes say.
cpu::ConvolutionDims ConvolutionDimsOf(const Instruction& convolution);

// No function where the instruction is no product.
ProductKernel FindProductKernel(const Instruction& instruction);

// What its "small dot" computes.
std::optional<cpu::SmallDot> FindSmallDot(const Instruction& dot);

// Families of it.
LibraryKernel FindFactorKernel(const Instruction& instruction);  // cholesky, triangular-solve.
LibraryKernel FindMatrixCallKernel(const Instruction& call);     // Calls of LAPACK and its relatives.
// Bytes that those take besides.
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
LibraryKernel FindTopkCallKernel(const Instruction& call);  // The custom call of a comparator.

}  // namespace hlo::plan
