#pragma once
// The functions of the CPU's kernels on whole arrays.

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "hlo_run/module.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/memory/dense_array.h"
#include "plan/plan.h"

namespace hlo::plan {

// Operands and results are dense arrays of the instruction's shapes, one pointer per leaf. Returns
// Unimplemented for values that only the reference can evaluate.
using KernelFn = std::function<absl::Status(
    const Instruction& instruction, absl::Span<const void* const> operands, absl::Span<void* const> results)>;

inline cpu::DenseArray Dense(const Shape& shape, const void* data) {
  return {data, shape.type(), shape.dims()};
}

// A kernel with its function; the other members are those of Kernel.
struct LibraryKernel {
  std::string_view name;
  KernelFn run = nullptr;
  int32_t in_place_results = 0, in_place_results_on_cpu = 0;
  bool skips_unused = false;

  Kernel description() const { return {name, in_place_results, in_place_results_on_cpu, skips_unused}; }
};

// The operands and the result of a dot or convolution. Operands are in memory or computed on demand; `result`
// is null if only the epilogue reads the product.
struct ProductArguments {
  const void* operands[2] = {};
  const cpu::BlockFunction* compute[2] = {};  // Only dots support them.
  void* result = nullptr;
  cpu::BlockFunction epilogue = {};
};
using ProductFn = std::function<absl::Status(const ProductArguments& arguments)>;

// Describes how loops can be fused into a dot or convolution: they run over blocks, which are parts of rows.
struct ProductKernel {
  ProductFn run = nullptr;
  bool supports_epilogue = false;
  int64_t row = 0;  // The elements per row of the result; 0: blocks consist of whole rows.
  // The elements per row of operands that can be computed on demand, as each element is read about once; 0:
  // not supported.
  int64_t operand_row[2] = {};
};
}  // namespace hlo::plan
