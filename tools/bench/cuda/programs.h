#pragma once
// Returns the kernel of the root instruction of a module.

#include <memory>
#include <string>

#include "contenders.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"

namespace hlo::bench {

inline CheckedModule ModuleOf(const std::string& text) {
  Diagnostics diagnostics;
  std::shared_ptr<Module> parsed =
      Parse(std::make_shared<SourceText>("bench.hlo", "HloModule b\n" + text), diagnostics);
  absl::StatusOr<CheckedModule> checked = parsed == nullptr
                                              ? absl::InvalidArgumentError("does not parse: " + text)
                                              : Check(std::move(parsed), diagnostics);
  Require(checked.status());
  return *std::move(checked);
}

// The module must outlive the kernel.
inline BoundKernel KernelOf(const CheckedModule& checked, const device::DeviceProperties& device) {
  std::optional<cuda::CudaKernel> kernel = cuda::FindCudaKernel(*checked.module().entry()->root(), device);
  if (!kernel.has_value()) Require(absl::UnimplementedError("no kernel takes the instruction"));
  return BoundKernel(*std::move(kernel));
}

}  // namespace hlo::bench
