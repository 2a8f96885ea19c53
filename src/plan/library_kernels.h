#pragma once
// Instructions that one kernel of src/kernels computes, on whole arrays.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "hlo_run/module.h"
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

// A dot or convolution of two arrays, whose result is nullptr where only the epilogue sees it.
using ProductFn = absl::Status (*)(const Instruction& product, absl::Span<const void* const> operands,
                                   void* result, const cpu::GemmEpilogue& epilogue);

// How a loop over its result joins it: block by block, which are pieces of rows.
struct ProductKernel {
  ProductFn run = nullptr;
  int64_t row = 0;  // Elements; 0: blocks consist of whole rows, or nearly always.
};
// No function where the loop had better run by itself: the instruction is no product, or its result comes in
// short pieces.
ProductKernel FindProductKernel(const Instruction& instruction);

// What its "small dot" computes.
std::optional<cpu::SmallDot> FindSmallDot(const Instruction& dot);

// Families of it.
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
