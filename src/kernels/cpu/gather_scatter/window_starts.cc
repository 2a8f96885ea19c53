#include "kernels/cpu/gather_scatter/window_starts.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "kernels/cpu/elementwise/tile_loops.h"

namespace hlo::cpu {

WindowStarts::WindowStarts(const DenseArray& indices, const StartDims& dims,
                           absl::Span<const int64_t> operand_dims, Index last_start, bool clamps)
    : indices_(indices),
      start_dims_(dims),
      operand_strides_(RowMajorStrides(operand_dims)),
      last_start_(std::move(last_start)),
      clamps_(clamps) {
  const Index strides = RowMajorStrides(indices.dims);
  const auto rank = static_cast<int64_t>(indices.dims.size());
  const Index positions = OtherDims(rank, {&dims.index_vector_dim, 1});
  dims_ = Pick(indices.dims, positions);
  strides_ = Pick(strides, positions);
  vector_stride_ = dims.index_vector_dim < rank ? strides[dims.index_vector_dim] : 0;
  // Dimensions are walked as one where their entries have a common stride. Batches depend on each dimension.
  for (int64_t d = 0; d < dims_.rank(); ++d) {
    if (d > 0 && dims.operand_batching_dims.empty() && walked_strides_.back() == dims_[d] * strides_[d]) {
      walked_.back() *= dims_[d];
      walked_strides_.back() = strides_[d];
    } else {
      walked_.push_back(dims_[d]);
      walked_strides_.push_back(strides_[d]);
    }
  }
}

// Returns true if the indices are in order in memory, and are the starts themselves if they are in range.
bool WindowStarts::IsPlainIndex() const {
  const absl::Span<const int64_t> dimensions = start_dims_.start_index_map;
  return dimensions.size() == 1 && start_dims_.operand_batching_dims.empty() &&
         operand_strides_[dimensions[0]] == 1 && strides_ == RowMajorStrides(dims_);
}

std::optional<int64_t> WindowStarts::IndexLimit() const {
  const bool plain = indices_.type == ElementType::kS32 && !clamps_ && IsPlainIndex();
  return plain ? std::optional(last_start_[start_dims_.start_index_map[0]] + 1) : std::nullopt;
}

std::optional<int64_t> WindowStarts::ClampedIndexLimit() const {
  return clamps_ && IsPlainIndex() ? std::optional(last_start_[start_dims_.start_index_map[0]])
                                   : std::nullopt;
}

template <class T>
void WindowStarts::ComputeRun(const Odometer& position, int64_t n, int64_t* starts) const {
  const int64_t step = walked_strides_.empty() ? 0 : walked_strides_.back();
  for (size_t k = 0; k < start_dims_.start_index_map.size(); ++k) {
    const T* entries =
        static_cast<const T*>(indices_.data) + position.offset() + static_cast<int64_t>(k) * vector_stride_;
    const int64_t d = start_dims_.start_index_map[k];
    const int64_t last = last_start_[d], stride = operand_strides_[d];
    const auto add = [&](int64_t distance, bool clamps) {
      for (int64_t i = 0; i < n; ++i) {
        int64_t value;
        if constexpr (std::is_same_v<T, uint64_t>)
          value =
              static_cast<int64_t>(std::min<T>(entries[i * distance], std::numeric_limits<int64_t>::max()));
        else
          value = static_cast<int64_t>(entries[i * distance]);
        const int64_t clamped = std::min(std::max<int64_t>(value, 0), last);
        const bool inside = clamps | ((clamped == value) & (starts[i] >= 0));
        starts[i] = inside ? starts[i] + clamped * stride : -1;
      }
    };
    if (step == 1 && clamps_)
      add(1, true);
    else
      add(step, clamps_);
  }
}

int64_t WindowStarts::BatchDigit(size_t k) const {
  const int64_t d = start_dims_.indices_batching_dims[k];
  return d < start_dims_.index_vector_dim ? d : d - 1;
}

int64_t WindowStarts::CommonBatches(const Odometer& position) const {
  int64_t start = 0;
  for (size_t k = 0; k < start_dims_.operand_batching_dims.size(); ++k) {
    const int64_t digit = BatchDigit(k), operand = start_dims_.operand_batching_dims[k];
    if (digit + 1 == dims_.rank()) continue;
    const int64_t value = position.digits()[digit], last = last_start_[operand];
    if (!clamps_ && value > last) return -1;
    start += std::min(value, last) * operand_strides_[operand];
  }
  return start;
}

void WindowStarts::AddBatchesOfRun(const Odometer& position, int64_t n, int64_t* starts) const {
  for (size_t k = 0; k < start_dims_.operand_batching_dims.size(); ++k) {
    const int64_t digit = BatchDigit(k), operand = start_dims_.operand_batching_dims[k];
    if (digit + 1 != dims_.rank()) continue;
    const int64_t first = position.digits()[digit], last = last_start_[operand];
    for (int64_t i = 0; i < n; ++i) {
      const int64_t value = first + i, clamped = std::min(value, last);
      const bool inside = clamps_ || (clamped == value && starts[i] >= 0);
      starts[i] = inside ? starts[i] + clamped * operand_strides_[operand] : -1;
    }
  }
}

void WindowStarts::Compute(int64_t begin, int64_t n, int64_t* starts) const {
  Odometer position(walked_, walked_strides_, begin);
  while (n > 0) {
    const int64_t length = std::min(n, position.left());
    std::fill_n(starts, length, CommonBatches(position));
    DispatchComputeType(ComputeTypeOf(indices_.type), [&]<class T>() {
      if constexpr (std::is_integral_v<T>)
        ComputeRun<T>(position, length, starts);
      else
        HLO_CHECK(false);
    });
    AddBatchesOfRun(position, length, starts);
    position.Skip(length);
    starts += length;
    n -= length;
  }
}

}  // namespace hlo::cpu
