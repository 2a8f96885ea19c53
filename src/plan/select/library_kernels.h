#pragma once
// Selects the kernel of an instruction on whole arrays.

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "hlo_run/module.h"
#include "kernels/cpu/bytecode/small_dot.h"
#include "kernels/cpu/convolution/convolution.h"
#include "kernels/cpu/gather_scatter/few_windows.h"
#include "plan/select/kernel.h"

namespace hlo::plan {

// Returns an empty kernel if only the reference supports the instruction.
LibraryKernel FindLibraryKernel(const Instruction& instruction);

// Returns the parameters of a convolution.
cpu::ConvolutionDims ConvolutionDimsOf(const Instruction& convolution);

// Returns an empty kernel if the instruction is not a dot or convolution with a GEMM kernel.
ProductKernel FindProductKernel(const Instruction& instruction);

// Returns the dot that the kernel "small dot" computes.
std::optional<cpu::SmallDot> FindSmallDot(const Instruction& dot);

// A gather of few single elements of an array of one dimension: result[i] = operand[clamp(indices[i], 0,
// most)].
struct LineGather {
  int64_t width;  // Bytes of an element.
  ElementType index_type;
  int64_t count, most;
};
std::optional<LineGather> FindLineGather(const Instruction& gather);
// Return the windows of a gather or scatter of one array, if they are few.
std::optional<cpu::FewWindows> FindGatherWindows(const Instruction& gather);
std::optional<cpu::FewWindows> FindScatterWindows(const Instruction& scatter);

// Returns the kernel of a call of LAPACK or a similar library.
LibraryKernel FindMatrixCallKernel(const Instruction& call);
// Return the scratch memory in bytes: of cholesky and triangular-solve, and of such a call.
int64_t FactorMemory(const Instruction& instruction);
int64_t MatrixCallMemory(const Instruction& call, absl::FunctionRef<bool(int)> needs_result);
LibraryKernel FindTopkCallKernel(const Instruction& call);  // The custom call, with a comparator.

// The functions of the CPU's column of kernels.def.
#define HLO_KERNEL(opcode, cpu, scratch, gpu, combiner, condition) \
  LibraryKernel Find##cpu##Kernel(const Instruction& instruction);
#include "kernels/kernels.def"

}  // namespace hlo::plan
