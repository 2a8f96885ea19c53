#pragma once
// Kernels for instructions with arbitrary elementwise combiners (to_apply), over arrays of any types. They
// are more general and slower than the kernels of registry.h.

#include "kernels/cuda/launch/cuda_kernel.h"
#include "loops/scalar_function.h"

namespace hlo::cuda {

// All return nullopt if no kernel supports the instruction. The code is the lowered to_apply, as for the CPU.
std::optional<CudaKernel> FindCustomMapKernel(const Instruction& map, const loops::ScalarFunction& code,
                                              const DeviceProperties& device);
std::optional<CudaKernel> FindCustomReduceKernel(const Instruction& reduce,
                                                 const loops::ScalarFunction& combiner,
                                                 const DeviceProperties& device);
std::optional<CudaKernel> FindCustomReduceWindowKernel(const Instruction& reduce_window,
                                                       const loops::ScalarFunction& combiner,
                                                       const DeviceProperties& device);
std::optional<CudaKernel> FindCustomScatterKernel(const Instruction& scatter,
                                                  const loops::ScalarFunction& combiner,
                                                  const DeviceProperties& device);
std::optional<CudaKernel> FindCustomScanKernel(const Instruction& scan, const loops::ScalarFunction& step,
                                               const DeviceProperties& device);
std::optional<CudaKernel> FindCustomSelectAndScatterKernel(const Instruction& instruction,
                                                           const loops::ScalarFunction& select,
                                                           const loops::ScalarFunction& scatter,
                                                           const DeviceProperties& device);
std::optional<CudaKernel> FindCustomTopkKernel(const Instruction& topk, const DeviceProperties& device);
std::optional<CudaKernel> FindCustomSortKernel(const Instruction& sort,
                                               const loops::ScalarFunction& comparator,
                                               const DeviceProperties& device);

}  // namespace hlo::cuda
