#pragma once
// Kernels for instructions with arbitrary elementwise combiners (to_apply), over arrays of any types. More
// general and slower than the kernels of registry.h.

#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cuda/registry.h"

namespace hlo::cuda {

// All return nullopt if no kernel supports the instruction. The code is the lowered to_apply, as for the CPU.
std::optional<CudaKernel> CodedMap(const Instruction& map, const cpu::TileCode& code,
                                   const DeviceProperties& device);
std::optional<CudaKernel> CodedReduce(const Instruction& reduce, const cpu::TileCode& combiner,
                                      const DeviceProperties& device);
std::optional<CudaKernel> CodedReduceWindow(const Instruction& reduce_window, const cpu::TileCode& combiner,
                                            const DeviceProperties& device);
std::optional<CudaKernel> CodedScatterKernel(const Instruction& scatter, const cpu::TileCode& combiner,
                                             const DeviceProperties& device);
std::optional<CudaKernel> CodedScanKernel(const Instruction& scan, const cpu::TileCode& step,
                                          const DeviceProperties& device);
std::optional<CudaKernel> CodedSelectAndScatter(const Instruction& instruction, const cpu::TileCode& select,
                                                const cpu::TileCode& scatter, const DeviceProperties& device);
std::optional<CudaKernel> CodedTopk(const Instruction& topk, const DeviceProperties& device);
std::optional<CudaKernel> CodedSort(const Instruction& sort, const cpu::TileCode& comparator,
                                    const DeviceProperties& device);

}  // namespace hlo::cuda
