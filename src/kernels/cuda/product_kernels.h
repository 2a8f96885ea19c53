#pragma once
// The kernels of products, as functions that launch them.

#include "absl/status/status.h"
#include "device/stream.h"
#include "kernels/cuda/mma_product_body.h"
#include "kernels/cuda/pack_body.h"
#include "kernels/cuda/product_launch.h"
#include "kernels/cuda/search_body.h"
#include "kernels/cuda/wgmma_product_body.h"

namespace hlo::cuda {

using LaunchProduct = absl::Status (*)(const LaunchShape&, const ProductArgs&, device::Stream);

// f32 in true single precision: tiles of 128 x 128 or 64 x 64. `axes`: elements may be missing.
struct TileKernel {
  LaunchProduct launch;
  size_t shared_bytes;
};
TileKernel F32KernelOf(bool large, bool axes);
// f64 on tensor cores: tiles of 128 x 128.
TileKernel F64KernelOf();

// For operands of all types, by the type of the sums.
struct ComputeKernels {
  LaunchProduct tiles;
  uint32_t tile;
  size_t shared_bytes;
  LaunchProduct elements, sum_parts;
};
ComputeKernels KernelsOf(ElementType compute);

// At most eight columns.
struct ThinKernels {
  LaunchProduct along_k;
  uint32_t rows_along_k;
  LaunchProduct along_rows;
  uint32_t rows_along_rows;
};
// nullptr: none for elements of this type.
const ThinKernels* ThinKernelsOf(ElementType stored);

// Tensor cores by instructions of a warp.
absl::Status LaunchMma(bool a_turned, bool b_turned, const LaunchShape& shape, const MmaArgs& args,
                       device::Stream stream);
size_t MmaSharedBytes(bool a_turned, bool b_turned);
// Tensor cores by groups of warps, on Hopper; where this build has them.
bool HasWgmma();
absl::Status LaunchWgmma(MmaKind kind, bool a_turned, bool b_turned, const LaunchShape& shape,
                         const WgmmaArgs& args, device::Stream stream);
absl::Status LaunchPack(const LaunchShape& shape, const PackArgs& args, device::Stream stream);

absl::Status LaunchSearch(const LaunchShape& shape, const SearchArgs& args, device::Stream stream);

}  // namespace hlo::cuda
