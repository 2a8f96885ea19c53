#pragma once
// Instructions that one kernel of src/kernels computes, on whole arrays.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "hlo_run/module.h"
#include "kernels/cpu/convolution.h"
#include "kernels/cpu/dense_array.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/small_dot.h"

namespace hlo::plan {

// Operands and results are dense arrays of the instruction's shapes, a pointer for each leaf. Unimplemented:
// the values are of a kind that only the reference evaluates.
using KernelFn = std::function<absl::Status(
    const Instruction& instruction, absl::Span<const void* const> operands, absl::Span<void* const> results)>;

inline cpu::DenseArray Dense(const Shape& shape, const void* data) {
  return {data, shape.type(), shape.dims()};
}

struct LibraryKernel {
  std::string_view name;
  KernelFn run = nullptr;
  int32_t updated = 0;  // So many first results may lie where the first operands do.
  // The same, and results that nothing needs may be null: of this function, not of a GPU's kernel.
  int32_t replaced = 0;
  bool skips_unused = false;
};

// No function where none takes the instruction: then the reference does.
LibraryKernel FindLibraryKernel(const Instruction& instruction);

// What a convolution's attributes say.
cpu::ConvolutionDims ConvolutionDimsOf(const Instruction& convolution);

// What a dot or convolution is computed from and where it goes: operands in memory, or computed as they are
// needed; nowhere where only the epilogue sees the result.
struct ProductArguments {
  const void* operands[2] = {};
  const cpu::BlockFunction* compute[2] = {};  // Of a dot.
  void* result = nullptr;
  cpu::BlockFunction epilogue = {};
};
using ProductFn = absl::Status (*)(const Instruction& product, const ProductArguments& arguments);

// How loops over its operands and its result join it: block by block, which are pieces of rows.
struct ProductKernel {
  ProductFn run = nullptr;
  bool takes_epilogue = false;
  int64_t row = 0;  // Elements of the result's; 0: blocks consist of whole rows.
  // Of operands that may be computed as they are needed, because each element is needed about once: the
  // elements of a row. 0: none.
  int64_t operand_row[2] = {};
};
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
