#pragma once
// Selects the f32 GEMM of Hopper, its tiles and split-K. The selection depends on types and shape only.

#include "kernels/cuda/gemm/gemm_plan.h"
#include "kernels/cuda/gemm/tma_gemm_args.h"

namespace hlo::cuda {

enum class F32TmaTileSize : uint8_t { k128x128, k128x64, k64x64, k64x32 };

struct F32TmaTiling {
  F32TmaTileSize size = F32TmaTileSize::k128x128;
  uint32_t rows = 128, columns = 128;
  int64_t tile_rows = 1, tile_columns = 1;
  Chunks chunks;
};
// Extents of a product.
struct GemmExtents {
  int64_t m = 0, n = 0, k = 0, batch = 1;
};
// Returns the tiling with the shortest estimated time, with at least `min_columns` columns.
F32TmaTiling F32TmaTilingFor(const GemmExtents& extents, uint32_t min_columns);

// True if the kernel supports the types on this device.
bool SupportsF32Tma(const Gemm& gemm, const device::DeviceProperties& device);

// A launch whose operands are described; array pointers are unset.
struct F32TmaLaunch {
  TmaGemmArgs args;
  bool a_is_mn_major = false, b_is_mn_major = true;
  OperandLocation a, b;
};
// Appends the launch and, with chunks, the sum of the parts. `args` needs the product and the operands only.
void AddF32TmaLaunch(const F32TmaLaunch& launch, const F32TmaTiling& tiling, std::optional<bool> run_if,
                     StepList* list);

// Append the steps of a product of matrices, with this tiling or the best one. Return false, and append
// nothing, if its layout is not supported.
bool AddF32TmaGemm(const Gemm& gemm, const F32TmaTiling& tiling, StepList* list);
bool AddF32TmaGemm(const Gemm& gemm, const device::DeviceProperties& device, StepList* list);
// Returns the tiling of the product by tiles of this size, in this number of chunks or fewer.
F32TmaTiling F32TmaTilingOf(const GemmExtents& extents, F32TmaTileSize size, int64_t chunks);

}  // namespace hlo::cuda
