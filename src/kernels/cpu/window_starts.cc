#include "kernels/cpu/window_starts.h"

#include <limits>
#include <type_traits>

#include "base/check.h"
#include "kernels/cpu/tile_loops.h"

namespace hlo::cpu {

Odometer::Odometer(const Index& dims, const Index& strides, int64_t number)
    : dims_(dims), strides_(strides), digits_(Zeros(dims.rank())) {
  for (int64_t d = dims.rank() - 1; d >= 0; --d) {
    digits_[d] = number % dims[d];
    number /= dims[d];
    place_ += digits_[d] * strides[d];
  }
}

void Odometer::Next() {
  for (int64_t d = dims_.rank() - 1; d >= 0; --d) {
    place_ += strides_[d];
    if (++digits_[d] < dims_[d]) return;
    place_ -= dims_[d] * strides_[d];
    digits_[d] = 0;
  }
}

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
}

bool WindowStarts::Add(int64_t value, int64_t operand_dim, int64_t* start) const {
  const int64_t last = last_start_[operand_dim];
  if (!clamps_ && (value < 0 || value > last)) return false;
  *start += std::min(std::max<int64_t>(value, 0), last) * operand_strides_[operand_dim];
  return true;
}

template <class T>
void WindowStarts::ComputeAs(int64_t begin, int64_t n, int64_t* starts) const {
  const T* indices = static_cast<const T*>(indices_.data);
  Odometer position(dims_, strides_, begin);
  for (int64_t i = 0; i < n; ++i, position.Next()) {
    int64_t start = 0;
    bool inside = true;
    const T* vector = indices + position.place();
    for (size_t k = 0; k < start_dims_.start_index_map.size(); ++k) {
      const T value = vector[static_cast<int64_t>(k) * vector_stride_];
      constexpr auto kMost = std::numeric_limits<int64_t>::max();
      const bool fits = !std::is_same_v<T, uint64_t> || static_cast<uint64_t>(value) <= uint64_t{kMost};
      inside &= Add(fits ? static_cast<int64_t>(value) : kMost, start_dims_.start_index_map[k], &start);
    }
    for (size_t k = 0; k < start_dims_.operand_batching_dims.size(); ++k) {
      const int64_t d = start_dims_.indices_batching_dims[k];
      const int64_t digit = position.digits()[d < start_dims_.index_vector_dim ? d : d - 1];
      inside &= Add(digit, start_dims_.operand_batching_dims[k], &start);
    }
    starts[i] = inside ? start : -1;
  }
}

void WindowStarts::Compute(int64_t begin, int64_t n, int64_t* starts) const {
  DispatchLane(LaneOf(indices_.type), [&]<class T>() {
    if constexpr (std::is_integral_v<T>)
      ComputeAs<T>(begin, n, starts);
    else
      HLO_CHECK(false);
  });
}

}  // namespace hlo::cpu
