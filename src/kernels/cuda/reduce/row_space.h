#pragma once
// The common iteration space of loops and reductions over the same rows.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace hlo::cuda {

// The dimensions of the space, outermost first. They refine the dimensions of all parts.
class RowSpace {
 public:
  // `parts` are the dimensions of each part, whose product is rows * length, or rows. Returns nullopt if
  // there is no such space.
  static std::optional<RowSpace> Of(absl::Span<const std::vector<int64_t>> parts, int64_t rows,
                                    int64_t length);

  absl::Span<const int64_t> dims() const { return dims_; }
  // Returns the strides over dims() of an access with these strides over the dimensions of a part. They are
  // 0 within rows if the part has one element per row.
  std::vector<int64_t> Strides(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides) const;
  // Returns the strides of a dense array with an element per row.
  std::vector<int64_t> RowStrides() const;
  // True if the strides are 0 within rows.
  bool IsPerRow(absl::Span<const int64_t> strides) const;

 private:
  std::vector<int64_t> dims_;
  size_t row_rank_ = 0;  // The number of dimensions of rows.
  int64_t length_ = 1;
};

}  // namespace hlo::cuda
