#pragma once
// The kernels for NVIDIA GPUs that compute whole instructions; the twin of plan/library_kernels.h. Which one
// takes an instruction follows from the instruction and the kind of device alone, so that results do not
// depend on the run.

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
  std::string name;  // States tile and order of accumulation: "dot f32 128x128x16".
  int64_t workspace_bytes = 0;
  // Operands and results are dense row-major arrays on the device, of the instruction's leaf shapes (nullptr:
  // a token). Enqueues on the stream; never waits for it, never allocates. Launches with Launch<...> of
  // launch.h alone, so that an emulated stream computes the same on the host.
  std::function<absl::Status(absl::Span<const void* const> operands, absl::Span<void* const> results,
                             void* workspace, Stream stream)>
      run;
  // The last operand is the address of the run's random_body.h RandomState.
  bool takes_random_state = false;
  int32_t updated = 0;    // So many first results may lie where the first operands do.
  bool may_loop = false;  // Its end is for the module's loops to decide.
};

// nullopt: no kernel takes it.
std::optional<CudaKernel> FindCudaKernel(const Instruction& instruction, const DeviceProperties& device);

std::optional<CudaKernel> FindDotKernel(const Instruction& dot, const DeviceProperties& device);
std::optional<CudaKernel> FindRaggedDotKernel(const Instruction& dot, const DeviceProperties& device);
std::optional<CudaKernel> FindConvolutionKernel(const Instruction& convolution,
                                                const DeviceProperties& device);
// A dot or convolution, and what is done to its result on the way out: of f32 sums alone. The operands of
// `run` are the product's and then the epilogue's arrays.
std::optional<CudaKernel> FindProductKernel(const Instruction& product, const Epilogue& epilogue,
                                            const DeviceProperties& device);
// Filters of one feature each.
std::optional<CudaKernel> FindDepthwiseKernel(const Instruction& convolution);
// Families of it.
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
