#pragma once
// Instructions that one kernel of src/kernels computes, on whole arrays.

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "hlo_run/module.h"

namespace hlo::plan {

// Operands and results are dense arrays of the instruction's shapes, a pointer for each leaf. Unimplemented:
// the values are of a kind that only the reference evaluates.
using KernelFn = std::function<absl::Status(
    const Instruction& instruction, absl::Span<const void* const> operands, absl::Span<void* const> results)>;

struct LibraryKernel {
  std::string_view name;
  KernelFn run;
};

// No function where none takes the instruction: then the reference does.
LibraryKernel FindLibraryKernel(const Instruction& instruction);

}  // namespace hlo::plan
