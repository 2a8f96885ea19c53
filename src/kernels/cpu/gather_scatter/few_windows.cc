#include "kernels/cpu/gather_scatter/few_windows.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/elementwise/tile_loops.h"

namespace hlo::cpu {

bool FewWindows::AddRows(const std::vector<CopyDim>& window, std::vector<int64_t>* other) {
  size_t outer = window.size();
  for (; outer > 0; --outer) {
    const CopyDim& dim = window[outer - 1];
    if (dim.from_stride != length_ || dim.to_stride != length_) break;
    length_ *= dim.size;
  }
  Index dims, from, to;
  int64_t count = 1;
  for (size_t d = 0; d < outer; ++d) {
    dims.push_back(window[d].size);
    from.push_back(window[d].from_stride);
    to.push_back(window[d].to_stride);
    count *= window[d].size;
    if (count > kMaxRows) return false;
  }
  rows_.resize(count);
  other->resize(count);
  StridedOffsets(dims, from, 0, count, rows_.data());
  StridedOffsets(dims, to, 0, count, other->data());
  return true;
}

std::optional<FewWindows> FewWindows::Make(absl::Span<const int64_t> operand_dims, const DenseArray& indices,
                                           const StartDims& dims, absl::Span<const int64_t> left_out,
                                           absl::Span<const int64_t> window_dims,
                                           absl::Span<const int64_t> to) {
  if (Product(to) == 0) return std::nullopt;
  const Index operand_strides = RowMajorStrides(operand_dims), to_strides = RowMajorStrides(to);
  const Index operand_window =
      OtherDims(static_cast<int64_t>(operand_dims.size()), left_out, dims.operand_batching_dims);
  Index last_start(operand_dims);
  for (int64_t& last : last_start) --last;
  std::vector<CopyDim> window;
  for (size_t k = 0; k < operand_window.size(); ++k) {
    const int64_t d = operand_window[k], other_d = window_dims[k], size = to[other_d];
    last_start[d] -= size - 1;
    if (size > 1) window.push_back({size, operand_strides[d], to_strides[other_d]});
  }
  const bool has_start = std::all_of(last_start.begin(), last_start.end(), [](int64_t n) { return n >= 0; });
  const bool is_word = indices.type == ElementType::kS32 || indices.type == ElementType::kS64;
  const auto rank = static_cast<int64_t>(indices.dims.size());
  const Index positions = OtherDims(rank, {&dims.index_vector_dim, 1});
  const Index strides = RowMajorStrides(indices.dims);
  const Index position_dims = Pick(indices.dims, positions), index_strides = Pick(strides, positions);
  const Index position_strides = Pick(to_strides, OtherDims(static_cast<int64_t>(to.size()), window_dims));
  const int64_t count = Product(position_dims);
  FewWindows result;
  std::vector<int64_t> other;
  if (!has_start || !is_word || count == 0 || count > kMaxRows || !result.AddRows(window, &other) ||
      count * std::ssize(other) > kMaxRows)
    return std::nullopt;
  result.index_type_ = indices.type;
  const int64_t vector_stride = dims.index_vector_dim < rank ? strides[dims.index_vector_dim] : 0;
  for (size_t k = 0; k < dims.start_index_map.size(); ++k) {
    const int64_t d = dims.start_index_map[k];
    result.components_.push_back(
        {static_cast<int64_t>(k) * vector_stride, last_start[d], operand_strides[d]});
  }
  Odometer index(position_dims, index_strides, 0), target(position_dims, position_strides, 0);
  for (int64_t w = 0; w < count; ++w, index.Next(), target.Next()) {
    int64_t batch = 0;
    for (size_t k = 0; k < dims.operand_batching_dims.size(); ++k) {
      const int64_t d = dims.indices_batching_dims[k], operand = dims.operand_batching_dims[k];
      const int64_t digit = index.digits()[d < dims.index_vector_dim ? d : d - 1];
      if (digit > last_start[operand]) return std::nullopt;
      batch += digit * operand_strides[operand];
    }
    result.windows_.push_back({batch, index.offset()});
    for (const int64_t row : other) result.other_.push_back(target.offset() + row);
  }
  return result;
}

template <class T>
void FewWindows::ComputeOffsets(const T* indices, bool clamps, int64_t* at) const {
  for (const Window& window : windows_) {
    int64_t start = window.batch;
    bool inside = true;
    for (const Component& component : components_) {
      const auto value = static_cast<int64_t>(indices[window.index + component.index]);
      const int64_t clamped = std::min(std::max<int64_t>(value, 0), component.last);
      inside &= clamps | (clamped == value);
      start += clamped * component.stride;
    }
    for (const int64_t row : rows_) *at++ = inside ? start + row : -1;
  }
}

std::array<int64_t, FewWindows::kMaxRows> FewWindows::Offsets(const void* indices, bool clamps) const {
  std::array<int64_t, kMaxRows> at;
  if (index_type_ == ElementType::kS32)
    ComputeOffsets(static_cast<const int32_t*>(indices), clamps, at.data());
  else
    ComputeOffsets(static_cast<const int64_t*>(indices), clamps, at.data());
  return at;
}

void FewWindows::Gather(int64_t width, const void* operand, const void* indices, void* result) const {
  const std::array<int64_t, kMaxRows> at = Offsets(indices, /*clamps=*/true);
  if (length_ > 1) {
    for (size_t k = 0; k < other_.size(); ++k) {
      std::memcpy(static_cast<std::byte*>(result) + other_[k] * width,
                  static_cast<const std::byte*>(operand) + at[k] * width, length_ * width);
    }
    return;
  }
  DispatchWidth(width, [&]<class T>() {
    for (size_t k = 0; k < other_.size(); ++k)
      static_cast<T*>(result)[other_[k]] = static_cast<const T*>(operand)[at[k]];
  });
}

void FewWindows::Scatter(const ScatterLoops& loops, void* result, const void* indices,
                         const void* updates) const {
  const std::array<int64_t, kMaxRows> at = Offsets(indices, /*clamps=*/false);
  const auto count = static_cast<int64_t>(other_.size());
  if (length_ == 1)
    loops.by_offset(count, result, at.data(), updates, other_.data());
  else
    loops.by_row(count, length_, result, at.data(), updates, other_.data());
}

}  // namespace hlo::cpu
