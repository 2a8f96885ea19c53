#include "kernels/cuda/gemm/tma_boxes.h"

#include <algorithm>

#include "kernels/cuda/gemm/im2col.h"

namespace hlo::cuda {

void SetBox(const TileBox& tile, size_t terms, size_t rows, BoxSource* source) {
  source->element_bytes = tile.element_bytes;
  source->byte_strides[0] = tile.element_bytes;
  source->swizzled = tile.swizzled();
  source->box[terms] = tile.depth();
  source->box[rows] = tile.is_mn_major ? std::min(tile.width, TmaSlab::kWidth) : tile.width;
}

std::optional<BoxSource> BoxesOf(const Operand& operand, const TileBox& tile, uint32_t mn, uint32_t k,
                                 uint32_t batch) {
  const IndexMap& inner = tile.is_mn_major ? operand.mn : operand.k;
  const IndexMap& outer = tile.is_mn_major ? operand.k : operand.mn;
  if (operand.axis_count > 0 || inner.rank != 1 || outer.rank != 1 || operand.batch.rank > 1)
    return std::nullopt;
  const int64_t outer_stride = outer.Stride(),
                batch_stride = operand.batch.rank == 0 ? 0 : operand.batch.Stride();
  const int64_t bytes = tile.element_bytes, aligned = 16 / bytes;
  if (inner.Stride() != 1 || outer_stride <= 0 || batch_stride < 0 || outer_stride % aligned != 0 ||
      batch_stride % aligned != 0 || operand.origin % aligned != 0)
    return std::nullopt;
  const uint32_t inner_size = tile.is_mn_major ? mn : k, outer_size = tile.is_mn_major ? k : mn;
  BoxSource boxes{.dims = {inner_size, outer_size, batch_stride == 0 ? 1 : batch, 1}};
  boxes.byte_strides[1] = static_cast<uint64_t>(bytes * outer_stride);
  boxes.byte_strides[2] =
      static_cast<uint64_t>(bytes * (batch_stride == 0 ? outer_stride * outer_size : batch_stride));
  SetBox(tile, tile.is_mn_major ? 1 : 0, tile.is_mn_major ? 0 : 1, &boxes);
  return boxes;
}

}  // namespace hlo::cuda
