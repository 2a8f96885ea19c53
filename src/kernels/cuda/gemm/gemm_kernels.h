#pragma once
// Launch functions of the GEMM kernels.

#include "absl/status/status.h"
#include "device/stream.h"
#include "kernels/cuda/gemm/f32_tma_plan.h"
#include "kernels/cuda/gemm/gemm_args.h"
#include "kernels/cuda/gemm/mma_gemm_body.h"
#include "kernels/cuda/gemm/non_finite_search_body.h"
#include "kernels/cuda/gemm/pack_body.h"
#include "kernels/cuda/gemm/wgmma_gemm_body.h"

namespace hlo::cuda {

using LaunchGemm = absl::Status (*)(const LaunchShape&, const GemmArgs&, device::Stream);

// Full-precision f32 GEMM with tiles of 128 x 128 (large) or 64 x 64. `axes`: elements may be out of bounds.
struct TileKernel {
  LaunchGemm launch;
  size_t shared_bytes;
};
TileKernel F32KernelOf(bool large, bool axes);
// f64 GEMM on tensor cores with tiles of 128 x 128.
TileKernel F64KernelOf();
// The same with tiles of 128 x 64 (large) or 64 x 64, for matrices. `lines`: the terms of the operand are
// contiguous; otherwise its rows or columns are.
TileKernel F64DenseKernelOf(bool large, bool a_lines, bool b_lines);

// Kernels for operands of all types, by accumulator type.
struct ComputeKernels {
  LaunchGemm tiles;
  uint32_t tile;
  size_t shared_bytes;
  LaunchGemm elements, sum_parts;
  LaunchGemm sum_dense_parts;  // Only of f32.
};
ComputeKernels KernelsOf(ElementType compute);

// Kernels for products with at most eight columns.
struct ThinKernels {
  LaunchGemm along_k;
  uint32_t rows_along_k;
  LaunchGemm along_rows;
  uint32_t rows_along_rows;
};
// Returns nullptr if there is no kernel for this element type and number of columns.
const ThinKernels* ThinKernelsOf(ElementType stored, uint32_t columns);

// Tensor cores by warp-level mma instructions.
absl::Status LaunchMma(bool a_is_mn_major, bool b_is_mn_major, const LaunchShape& shape, const MmaArgs& args,
                       device::Stream stream);
size_t MmaSharedBytes(bool a_is_mn_major, bool b_is_mn_major);
// True if the driver, if there is one, encodes tensor maps of this form.
bool CanEncode(const BoxSource& source);
// Tensor cores by wgmma on Hopper; HasWgmma is true if this build contains them.
bool HasWgmma();
absl::Status LaunchWgmma(MmaKind kind, bool a_is_mn_major, bool b_is_mn_major, uint32_t columns,
                         const LaunchShape& shape, const TmaGemmArgs& args, device::Stream stream);
// f32 by TMA on Hopper, in builds with wgmma.
size_t F32TmaSharedBytes(F32TmaTileSize size);
absl::Status LaunchF32Tma(F32TmaTileSize size, bool a_is_mn_major, bool b_is_mn_major,
                          const TmaGemmArgs& args, device::Stream stream);
absl::Status LaunchPack(const LaunchShape& shape, const PackArgs& args, device::Stream stream);

absl::Status LaunchNonFiniteSearch(const LaunchShape& shape, const NonFiniteSearchArgs& args,
                                   device::Stream stream);

}  // namespace hlo::cuda
