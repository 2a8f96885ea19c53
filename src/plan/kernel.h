#pragma once
// The kernels that steps name.

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "hlo_run/module.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/memory/dense_array.h"

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
}  // namespace hlo::plan
