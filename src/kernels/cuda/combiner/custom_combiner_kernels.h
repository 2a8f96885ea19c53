#pragma once
// Kernels for instructions with arbitrary elementwise combiners (to_apply), over arrays of any types. More
// general and slower than the kernels of registry.h.

#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cuda/launch/cuda_kernel.h"

namespace hlo::cuda {

// All return nullopt if no kernel supports the instruction. The code is the lowered to_apply, as for the CPU.
std::optional<CudaKernel> FindCustomMapKernel(const Instruction& map, const cpu::TileCode& code,
                                              const DeviceProperties& device);
std::optional<CudaKernel> FindCustomReduceKernel(const Instruction& reduce, const cpu::TileCode& combiner,
                                                 const DeviceProperties& device);
std::optional<CudaKernel> FindCustomReduceWindowKernel(const Instruction& reduce_window,
                                                       const cpu::TileCode& combiner,
                                                       const DeviceProperties& device);
std::optional<CudaKernel> FindCustomScatterKernel(const Instruction& scatter, const cpu::TileCode& combiner,
                                                  const DeviceProperties& device);
std::optional<CudaKernel> FindCustomScanKernel(const Instruction& scan, const cpu::TileCode& step,
                                               const DeviceProperties& device);
std::optional<CudaKernel> FindCustomSelectAndScatterKernel(const Instruction& instruction,
                                                           const cpu::TileCode& select,
                                                           const cpu::TileCode& scatter,
                                                           const DeviceProperties& device);
std::optional<CudaKernel> FindCustomTopkKernel(const Instruction& topk, const DeviceProperties& device);
std::optional<CudaKernel> FindCustomSortKernel(const Instruction& sort, const cpu::TileCode& comparator,
                                               const DeviceProperties& device);

}  // namespace hlo::cuda
