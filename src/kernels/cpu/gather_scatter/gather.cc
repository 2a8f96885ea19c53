#include "kernels/cpu/gather_scatter/gather.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/elementwise/copy_array.h"
#include "kernels/cpu/elementwise/gather_clamped.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/simd/gather_elements.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kStartsAtOnce = 512;

// The slices of a gather: copies of `window` from the starts to result positions with strides `to_strides`.
struct Slices {
  const WindowStarts& starts;
  absl::InlinedVector<CopyDim, 6> window;
  Index to_dims, to_strides;
  const std::byte* from;
  std::byte* to;
};

// Merges dimensions whose positions have a common stride.
void MergeDims(Index* dims, Index* strides) {
  Index merged, merged_strides;
  for (int64_t d = 0; d < dims->rank(); ++d) {
    if (d > 0 && merged_strides.back() == (*dims)[d] * (*strides)[d]) {
      merged.back() *= (*dims)[d];
      merged_strides.back() = (*strides)[d];
    } else {
      merged.push_back((*dims)[d]);
      merged_strides.push_back((*strides)[d]);
    }
  }
  *dims = std::move(merged);
  *strides = std::move(merged_strides);
}

// The source and result offsets of slices [begin, begin + n).
struct Chunk {
  std::array<int64_t, kStartsAtOnce> from, to;
  Chunk(const Slices& slices, int64_t begin, int64_t n) {
    slices.starts.Compute(begin, n, from.data());
    StridedOffsets(slices.to_dims, slices.to_strides, begin, n, to.data());
  }
};

// Gathers single elements into a contiguous array.
template <class T>
void GatherScalars(const Slices& slices, const DenseArray& indices, int64_t begin, int64_t n) {
  if (const std::optional<int64_t> limit = slices.starts.ClampedIndexLimit(); limit.has_value()) {
    return GatherClamped(reinterpret_cast<const T*>(slices.from), indices.type, indices.data, begin, n,
                         *limit, reinterpret_cast<T*>(slices.to) + begin);
  }
  std::array<int64_t, kStartsAtOnce> from;
  slices.starts.Compute(begin, n, from.data());
  GatherElements(reinterpret_cast<const T*>(slices.from), from.data(), n,
                 reinterpret_cast<T*>(slices.to) + begin);
}

// Gathers the window element by element, each for all starts.
template <class T>
void GatherWindows(const Slices& slices, const Chunk& chunk, int64_t n) {
  Index dims, from_strides, to_strides;
  for (const CopyDim& d : slices.window) {
    dims.push_back(d.size);
    from_strides.push_back(d.from_stride);
    to_strides.push_back(d.to_stride);
  }
  Odometer from(dims, from_strides, 0), to(dims, to_strides, 0);
  for (int64_t w = 0; w < Product(dims); ++w, from.Next(), to.Next()) {
    const T* source = reinterpret_cast<const T*>(slices.from) + from.offset();
    T* target = reinterpret_cast<T*>(slices.to) + to.offset();
    for (int64_t i = 0; i < n; ++i) target[chunk.to[i]] = source[chunk.from[i]];
  }
}

// Copies slices of `bytes` that are contiguous in both arrays. kBytes: their number if it is known.
template <int64_t kBytes = 0>
void CopySlices(const Slices& slices, const Chunk& chunk, int64_t n, int64_t width, int64_t bytes) {
  if constexpr (kBytes > 0) bytes = kBytes;
  for (int64_t i = 0; i < n; ++i)
    std::memcpy(slices.to + chunk.to[i] * width, slices.from + chunk.from[i] * width, bytes);
}

// Points and short vectors are copied without a call for each.
void CopyShortSlices(const Slices& slices, const Chunk& chunk, int64_t n, int64_t width, int64_t bytes) {
  switch (bytes) {
    case 4:
      return CopySlices<4>(slices, chunk, n, width, bytes);
    case 8:
      return CopySlices<8>(slices, chunk, n, width, bytes);
    case 12:
      return CopySlices<12>(slices, chunk, n, width, bytes);
    case 16:
      return CopySlices<16>(slices, chunk, n, width, bytes);
    case 24:
      return CopySlices<24>(slices, chunk, n, width, bytes);
    case 32:
      return CopySlices<32>(slices, chunk, n, width, bytes);
    case 64:
      return CopySlices<64>(slices, chunk, n, width, bytes);
    default:
      return CopySlices(slices, chunk, n, width, bytes);
  }
}

}  // namespace

void Gather(const DenseArray& operand, const DenseArray& indices, const GatherDims& dims, void* result,
            absl::Span<const int64_t> result_dims) {
  const int64_t width = ByteCount(operand.type), count = Product(result_dims);
  if (count == 0) return;
  if (Product(operand.dims) == 0) {
    std::memset(result, 0, count * width);
    return;
  }
  const auto rank = static_cast<int64_t>(operand.dims.size());
  const auto result_rank = static_cast<int64_t>(result_dims.size());
  Index last_start(operand.dims);  // An empty slice still has a start.
  for (int64_t d = 0; d < rank; ++d) last_start[d] -= std::max<int64_t>(1, dims.slice_sizes[d]);
  const WindowStarts starts(indices, dims.starts, operand.dims, last_start, true);
  const Index from_strides = RowMajorStrides(operand.dims), to_strides = RowMajorStrides(result_dims);
  const Index window_dims = OtherDims(rank, dims.collapsed_slice_dims, dims.starts.operand_batching_dims);
  Slices slices{starts,
                {},
                starts.dims(),
                Pick(to_strides, OtherDims(result_rank, dims.offset_dims)),
                static_cast<const std::byte*>(operand.data),
                static_cast<std::byte*>(result)};
  for (size_t k = 0; k < window_dims.size(); ++k) {
    const int64_t d = window_dims[k];
    if (dims.slice_sizes[d] == 1) continue;
    slices.window.push_back({dims.slice_sizes[d], from_strides[d], to_strides[dims.offset_dims[k]]});
  }
  int64_t dense = 1;  // The number of slice elements that are contiguous in both arrays.
  for (auto d = slices.window.rbegin(); d != slices.window.rend(); ++d) {
    if (d->from_stride != dense || d->to_stride != dense) break;
    dense *= d->size;
  }
  const bool whole = dense > 1 && dense * starts.count() == count;
  // Slices are copied one by one if they are contiguous in the result, or few.
  constexpr int64_t kFewStarts = 16;
  const bool is_few = starts.count() <= kFewStarts && starts.count() * starts.count() <= count;
  const bool by_slices = !slices.window.empty() && (is_few || slices.window.back().to_stride == 1);
  const bool are_scalars = slices.window.empty() && slices.to_strides == RowMajorStrides(starts.dims());
  MergeDims(&slices.to_dims, &slices.to_strides);
  const int64_t chunks = CeilDiv(starts.count(), kStartsAtOnce);
  ParallelFor(chunks, static_cast<double>(count), [&](int64_t c) {
    const int64_t begin = c * kStartsAtOnce, n = std::min(kStartsAtOnce, starts.count() - begin);
    if (are_scalars) {
      DispatchWidth(width, [&]<class T>() { GatherScalars<T>(slices, indices, begin, n); });
      return;
    }
    const Chunk chunk(slices, begin, n);
    if (whole) {
      CopyShortSlices(slices, chunk, n, width, dense * width);
    } else if (by_slices) {
      for (int64_t i = 0; i < n; ++i) {
        CopyArray(slices.window, width, slices.from + chunk.from[i] * width, slices.to + chunk.to[i] * width);
      }
    } else {
      DispatchWidth(width, [&]<class T>() { GatherWindows<T>(slices, chunk, n); });
    }
  });
}

void GatherElementsOfLine(int64_t width, const void* operand, ElementType index_type, const void* indices,
                          int64_t count, int64_t most, void* result) {
  DispatchWidth(width, [&]<class T>() {
    GatherClamped(static_cast<const T*>(operand), index_type, indices, 0, count, most,
                  static_cast<T*>(result));
  });
}

namespace {

// Combines rows of elements of each array in their compute types.
class RowCombiner {
 public:
  RowCombiner(absl::Span<const ScatterArray> arrays, const TileCode* code) : arrays_(arrays), code_(code) {}

  // Combines result[to + i * to_stride] with update[from + i * from_stride] for i of [0, n).
  void Run(int64_t n, int64_t to, int64_t to_stride, int64_t from, int64_t from_stride) {
    if (code_ == nullptr) {
      const ScatterArray& array = arrays_[0];
      const int64_t width = ByteCount(array.type);
      CopyStrided(n, width, At(array.result, to, width), to_stride, At(array.update, from, width),
                  from_stride);
      return;
    }
    const size_t count = arrays_.size();
    if (count == 1 && IsStoredAsComputed(arrays_[0].type) &&
        ((to_stride == 1 && from_stride == 1) || n == 1)) {
      const int64_t width = ByteCount(arrays_[0].type);
      void* out[] = {At(arrays_[0].result, to, width)};
      const void* in[] = {out[0], At(arrays_[0].update, from, width)};
      code_->Run(n, in, out);
      return;
    }
    for (int64_t begin = 0; begin < n; begin += kPart) {
      RunPart(std::min(kPart, n - begin), to + begin * to_stride, to_stride, from + begin * from_stride,
              from_stride);
    }
  }

 private:
  static constexpr int64_t kPart = 256, kMaxElementBytes = 16;

  static std::byte* At(void* data, int64_t i, int64_t width) {
    return static_cast<std::byte*>(data) + i * width;
  }
  static const std::byte* At(const void* data, int64_t i, int64_t width) {
    return static_cast<const std::byte*>(data) + i * width;
  }

  void RunPart(int64_t n, int64_t to, int64_t to_stride, int64_t from, int64_t from_stride) {
    const size_t count = arrays_.size();
    lanes_.resize(2 * count * kPart * kMaxElementBytes);
    absl::InlinedVector<const void*, 8> in(2 * count);
    absl::InlinedVector<void*, 4> out(count);
    for (size_t k = 0; k < count; ++k) {
      const int64_t width = ByteCount(arrays_[k].type);
      out[k] = lanes_.data() + k * kPart * kMaxElementBytes;
      in[k] = out[k];
      in[count + k] = Load(arrays_[k].type, n, At(arrays_[k].update, from, width), from_stride, count + k);
      Load(arrays_[k].type, n, At(arrays_[k].result, to, width), to_stride, k);
    }
    code_->Run(n, in.data(), out.data());
    for (size_t k = 0; k < count; ++k) {
      const ElementType type = arrays_[k].type;
      const int64_t width = ByteCount(type);
      const void* element = out[k];
      alignas(16) std::byte stored[kPart * kMaxElementBytes];
      if (const TileCall narrow = StoreTile(type); narrow.function != nullptr) {
        narrow.function(n, stored, &element, narrow.parameter);
        element = stored;
      }
      CopyStrided(n, width, At(arrays_[k].result, to, width), to_stride, element, 1);
    }
  }
  const void* Load(ElementType type, int64_t n, const void* from, int64_t stride, size_t number) {
    std::byte* lanes = lanes_.data() + number * kPart * kMaxElementBytes;
    const TileCall widen = LoadTile(type);
    if (widen.function == nullptr) {
      CopyStrided(n, ByteCount(type), lanes, 1, from, stride);
      return lanes;
    }
    alignas(16) std::byte stored[kPart * kMaxElementBytes];
    CopyStrided(n, ByteCount(type), stored, 1, from, stride);
    const void* in[] = {stored};
    widen.function(n, lanes, in, widen.parameter);
    return lanes;
  }

  absl::Span<const ScatterArray> arrays_;
  const TileCode* code_;
  CachedVector<std::byte> lanes_;
};

// A window of a scatter: rows along its last dimensions of more than one element, and the dimensions of the
// rows' starts.
struct UpdateWindow {
  Index outer_dims, outer_to, outer_from;
  CopyDim row{1, 1, 1};

  void AddDim(int64_t size, int64_t from_stride, int64_t to_stride) {
    if (size == 1) return;
    if (row.size > 1 && row.from_stride == size * from_stride && row.to_stride == size * to_stride) {
      row = {row.size * size, from_stride, to_stride};
      return;
    }
    if (row.size > 1) {
      outer_dims.push_back(row.size);
      outer_to.push_back(row.to_stride);
      outer_from.push_back(row.from_stride);
    }
    row = {size, from_stride, to_stride};
  }

  // Combines a window of the updates at `from` with that of the operand at `to`.
  void Run(RowCombiner& combiner, int64_t to, int64_t from) const {
    Odometer to_row(outer_dims, outer_to, 0), from_row(outer_dims, outer_from, 0);
    for (int64_t r = 0, rows = Product(outer_dims); r < rows; ++r, to_row.Next(), from_row.Next())
      combiner.Run(row.size, to + to_row.offset(), row.to_stride, from + from_row.offset(), row.from_stride);
  }
};

}  // namespace

void Scatter(absl::Span<const ScatterArray> arrays, absl::Span<const int64_t> operand_dims,
             const DenseArray& indices, absl::Span<const int64_t> update_dims, const ScatterDims& dims,
             const TileCode* combiner, const ScatterLoops& elementwise) {
  if (Product(update_dims) == 0 || Product(operand_dims) == 0) return;
  const auto rank = static_cast<int64_t>(operand_dims.size());
  const auto update_rank = static_cast<int64_t>(update_dims.size());
  const Index to_strides = RowMajorStrides(operand_dims), from_strides = RowMajorStrides(update_dims);
  const Index window_dims = OtherDims(rank, dims.inserted_window_dims, dims.starts.operand_batching_dims);
  Index last_start(operand_dims);
  for (int64_t& last : last_start) --last;
  UpdateWindow window;
  for (size_t k = 0; k < window_dims.size(); ++k) {
    const int64_t d = window_dims[k], u = dims.update_window_dims[k], size = update_dims[u];
    last_start[d] -= size - 1;
    window.AddDim(size, from_strides[u], to_strides[d]);
  }
  const WindowStarts starts(indices, dims.starts, operand_dims, last_start, false);
  const Index position_strides = Pick(from_strides, OtherDims(update_rank, dims.update_window_dims));
  const CopyDim& row = window.row;
  const bool is_row = window.outer_dims.empty();
  const bool by_element = is_row && row.size == 1 && elementwise.by_offset != nullptr;
  const bool by_row = is_row && row.to_stride == 1 && row.from_stride == 1 && elementwise.by_row != nullptr;
  const std::optional<int64_t> limit = starts.IndexLimit();
  if (by_element && limit.has_value() && position_strides == RowMajorStrides(starts.dims())) {
    elementwise.by_index(starts.count(), arrays[0].result, *limit, static_cast<const int32_t*>(indices.data),
                         arrays[0].update);
    return;
  }
  RowCombiner row_combiner(arrays, combiner);
  std::array<int64_t, kStartsAtOnce> at, update;
  for (int64_t begin = 0; begin < starts.count(); begin += kStartsAtOnce) {
    const int64_t n = std::min(kStartsAtOnce, starts.count() - begin);
    starts.Compute(begin, n, at.data());
    StridedOffsets(starts.dims(), position_strides, begin, n, update.data());
    if (by_element) {
      elementwise.by_offset(n, arrays[0].result, at.data(), arrays[0].update, update.data());
      continue;
    }
    if (by_row) {
      elementwise.by_row(n, row.size, arrays[0].result, at.data(), arrays[0].update, update.data());
      continue;
    }
    for (int64_t i = 0; i < n; ++i) {
      if (at[i] >= 0) window.Run(row_combiner, at[i], update[i]);
    }
  }
}

}  // namespace hlo::cpu
