#pragma once
// Registry of the CUDA kernels that compute whole instructions; the counterpart of plan/library_kernels.h.
// The selection depends on the instruction and the device properties only, so results are reproducible.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "device/properties.h"
#include "device/stream.h"
#include "hlo_run/module.h"
#include "kernels/cuda/epilogue.h"

namespace hlo::cuda {

using device::DeviceProperties;
using device::Stream;

struct CudaKernel {
  std::string name;  // Describes tile and order of accumulation: "dot f32 128x128x16".
  int64_t workspace_bytes = 0;
  // Enqueues the kernel on the stream. Operands and results are dense row-major device arrays of the
  // instruction's leaf shapes (nullptr: a token). Never synchronises and never allocates. Uses only
  // Launch<...> of launch.h, so an emulated stream computes the same on the host.
  std::function<absl::Status(absl::Span<const void* const> operands, absl::Span<void* const> results,
                             void* workspace, Stream stream)>
      run;
  // The last operand is a pointer to the run's RandomState (random_body.h).
  bool takes_random_state = false;
  int32_t updated = 0;    // Number of leading results that may alias the leading operands.
  bool may_loop = false;  // The kernel may not terminate, because it runs loops of the module.
};

// Returns nullopt if no kernel supports the instruction.
std::optional<CudaKernel> FindCudaKernel(const Instruction& instruction, const DeviceProperties& device);

std::optional<CudaKernel> FindDotKernel(const Instruction& dot, const DeviceProperties& device);
std::optional<CudaKernel> FindRaggedDotKernel(const Instruction& dot, const DeviceProperties& device);
std::optional<CudaKernel> FindConvolutionKernel(const Instruction& convolution,
                                                const DeviceProperties& device);
// Returns the kernel of a dot or convolution with an epilogue (f32 accumulators only). The operands of `run`
// are the product's, followed by the epilogue's arrays.
std::optional<CudaKernel> FindProductKernel(const Instruction& product, const Epilogue& epilogue,
                                            const DeviceProperties& device);
// Depthwise convolution: filters with one input feature each.
std::optional<CudaKernel> FindDepthwiseKernel(const Instruction& convolution);
// The families of FindCudaKernel.
std::optional<CudaKernel> FindBatchNormKernel(const Instruction& batch_norm, const DeviceProperties& device);
std::optional<CudaKernel> FindBitcastKernel(const Instruction& bitcast, const DeviceProperties& device);
std::optional<CudaKernel> FindCholeskyKernel(const Instruction& cholesky, const DeviceProperties& device);
std::optional<CudaKernel> FindTriangularSolveKernel(const Instruction& triangular_solve,
                                                    const DeviceProperties& device);
std::optional<CudaKernel> FindFftKernel(const Instruction& fft, const DeviceProperties& device);
std::optional<CudaKernel> FindGatherKernel(const Instruction& gather, const DeviceProperties& device);
std::optional<CudaKernel> FindScatterKernel(const Instruction& scatter, const DeviceProperties& device);
std::optional<CudaKernel> FindRandomBitsKernel(const Instruction& rng_bit_generator,
                                               const DeviceProperties& device);
std::optional<CudaKernel> FindDrawKernel(const Instruction& rng, const DeviceProperties& device);
std::optional<CudaKernel> FindAdvanceKernel(const Instruction& rng_get_and_update_state,
                                            const DeviceProperties& device);
std::optional<CudaKernel> FindReduceWindowKernel(const Instruction& reduce_window,
                                                 const DeviceProperties& device);
std::optional<CudaKernel> FindSelectAndScatterKernel(const Instruction& select_and_scatter,
                                                     const DeviceProperties& device);
std::optional<CudaKernel> FindShuffleKernel(const Instruction& shuffle, const DeviceProperties& device);
std::optional<CudaKernel> FindSortKernel(const Instruction& sort, const DeviceProperties& device);
std::optional<CudaKernel> FindTopkKernel(const Instruction& topk, const DeviceProperties& device);

}  // namespace hlo::cuda
