#include "kernels/cuda/reduce/row_space.h"

#include <algorithm>

#include "types/index.h"

namespace hlo::cuda {

std::optional<RowSpace> RowSpace::Of(absl::Span<const std::vector<int64_t>> parts, int64_t rows,
                                     int64_t length) {
  std::vector<int64_t> bounds = {1, length, rows * length};  // Products of the innermost dimensions.
  for (const std::vector<int64_t>& dims : parts) {
    const int64_t count = hlo::Product(dims);
    if (count != rows && count != rows * length) return std::nullopt;
    int64_t bound = count == rows ? length : 1;
    for (size_t d = dims.size(); d-- > 0;) bounds.push_back(bound *= dims[d]);
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  RowSpace space;
  space.length_ = length;
  for (size_t b = bounds.size() - 1; b > 0; --b) {
    if (bounds[b - 1] == 0 || bounds[b] % bounds[b - 1] != 0) return std::nullopt;
    space.dims_.push_back(bounds[b] / bounds[b - 1]);
    space.row_rank_ += bounds[b] > length;
  }
  return space;
}

std::vector<int64_t> RowSpace::Strides(absl::Span<const int64_t> dims,
                                       absl::Span<const int64_t> strides) const {
  std::vector<int64_t> result(dims_.size(), 0);
  size_t at = hlo::Product(dims) == hlo::Product(dims_) ? dims_.size() : row_rank_;
  for (size_t d = dims.size(); d-- > 0;) {
    for (int64_t done = 1; done < dims[d]; done *= dims_[at]) result[--at] = strides[d] * done;
  }
  return result;
}

std::vector<int64_t> RowSpace::RowStrides() const {
  std::vector<int64_t> result(dims_.size(), 0);
  int64_t stride = 1;
  for (size_t d = row_rank_; d-- > 0; stride *= dims_[d]) result[d] = stride;
  return result;
}

bool RowSpace::IsPerRow(absl::Span<const int64_t> strides) const {
  return std::all_of(strides.begin() + static_cast<std::ptrdiff_t>(row_rank_), strides.end(),
                     [](int64_t stride) { return stride == 0; });
}

}  // namespace hlo::cuda
