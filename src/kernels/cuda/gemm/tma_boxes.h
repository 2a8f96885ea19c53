#pragma once
// Operands of products as arrays of boxes that TMA copies.

#include <optional>

#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/intrinsics/hopper.h"

namespace hlo::cuda {

// The box of a tile: `width` rows (or columns) by 128 bytes of terms. Contiguous rows are copied in slabs.
struct TileBox {
  uint32_t width = 128, element_bytes = 2;
  bool is_mn_major = false;

  uint32_t depth() const { return 128 / element_bytes; }
  // Rows of 128 bytes are swizzled.
  bool swizzled() const { return !is_mn_major || element_bytes < 4; }
};
// Sets the extents of the box: terms and rows in the order of memory.
void SetBox(const TileBox& tile, size_t terms, size_t rows, BoxSource* source);

// Returns nullopt if the operand has too many dimensions or is not aligned. `batch` and `k` are the
// product's, `mn` is the number of the operand's rows.
std::optional<BoxSource> BoxesOf(const Operand& operand, const TileBox& tile, uint32_t mn, uint32_t k,
                                 uint32_t batch);

}  // namespace hlo::cuda
