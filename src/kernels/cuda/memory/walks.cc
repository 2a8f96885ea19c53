#include "kernels/cuda/memory/walks.h"

#include <algorithm>

#include "types/index.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kMaxElements = (int64_t{1} << 31) - 1;

}  // namespace

std::vector<PlainDim> Joined(absl::Span<const PlainDim> dims) {
  std::vector<PlainDim> joined;
  for (const PlainDim& dim : dims) {
    if (dim.size == 1) continue;
    if (!joined.empty() && joined.back().index == dim.size * dim.index &&
        joined.back().operand == dim.size * dim.operand && joined.back().update == dim.size * dim.update) {
      const int64_t size = joined.back().size * dim.size;
      joined.back() = dim;
      joined.back().size = size;
    } else {
      joined.push_back(dim);
    }
  }
  return joined;
}

std::optional<Walk> MakeWalk(absl::Span<const PlainDim> dims) {
  const std::vector<PlainDim> joined = Joined(dims);
  int64_t count = 1;
  for (const PlainDim& dim : joined) count *= dim.size;
  if (joined.size() > kMaxDims || count > kMaxElements) return std::nullopt;
  Walk walk;
  for (const PlainDim& dim : joined) {
    walk.dims[walk.rank++] = {FastDiv(static_cast<uint32_t>(std::max<int64_t>(1, dim.size))), dim.index,
                              dim.operand, dim.update};
  }
  return walk;
}

std::optional<IndexedArrays> IndexArrays(const Shape& operand, const Shape& indices, const Shape& windowed,
                                         const WindowIndexing& indexing, absl::Span<const int64_t> extents,
                                         bool clamps) {
  const Index windows = OtherDims(operand.rank(), indexing.left_out, indexing.operand_batching_dims);
  const auto& batches = indexing.indices_batching_dims;
  if (!IsIntegral(indices.type()) || windows.size() != indexing.window_dims.size() ||
      std::find(batches.begin(), batches.end(), indexing.index_vector_dim) != batches.end() ||
      indexing.start_index_map.size() > kMaxDims)
    return std::nullopt;
  const Index operand_strides = RowMajorStrides(operand.dims()),
              index_strides = RowMajorStrides(indices.dims()), strides = RowMajorStrides(windowed.dims());
  IndexedArrays arrays;
  arrays.dims.resize(windowed.rank());
  arrays.is_window.resize(windowed.rank());
  for (int64_t d = 0; d < windowed.rank(); ++d) arrays.dims[d] = {windowed.dim(d), 0, 0, strides[d]};
  for (size_t k = 0; k < windows.size(); ++k) {
    arrays.dims[indexing.window_dims[k]].operand = operand_strides[windows[k]];
    arrays.is_window[indexing.window_dims[k]] = true;
  }
  const Index positions = OtherDims(windowed.rank(), indexing.window_dims);
  int64_t next = 0;
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d == indexing.index_vector_dim) continue;
    PlainDim& dim = arrays.dims[positions[next++]];
    dim.index = index_strides[d];
    const auto* batch = std::find(batches.begin(), batches.end(), d);
    if (batch != batches.end())
      dim.operand = operand_strides[indexing.operand_batching_dims[batch - batches.begin()]];
  }
  StartsArgs& starts = arrays.starts;
  starts.byte_count = static_cast<uint32_t>(ByteCount(indices.type()));
  starts.is_signed = IsSigned(indices.type());
  starts.clamps = clamps;
  starts.vector_stride =
      indexing.index_vector_dim < indices.rank() ? index_strides[indexing.index_vector_dim] : 0;
  for (int64_t d : indexing.start_index_map)
    starts.entries[starts.count++] = {operand.dim(d) - extents[d], operand_strides[d]};
  return arrays;
}

}  // namespace hlo::cuda
