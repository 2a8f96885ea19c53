#pragma once
// Multidimensional indices and arithmetic on them.

#include <algorithm>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace hlo {

class Index : public absl::InlinedVector<int64_t, 6> {
 public:
  using absl::InlinedVector<int64_t, 6>::InlinedVector;
  Index() = default;
  Index(absl::Span<const int64_t> values)
      : InlinedVector(values.begin(), values.end()) {}  // NOLINT: converts from a list implicitly.

  int64_t rank() const { return static_cast<int64_t>(size()); }
};

inline Index Zeros(int64_t rank) { return Index(static_cast<size_t>(rank), 0); }

inline Index& operator+=(Index& a, const Index& b) {
  for (int64_t d = 0; d < a.rank(); ++d) a[d] += b[d];
  return a;
}
inline Index operator+(Index a, const Index& b) { return a += b; }
inline Index operator-(Index a, const Index& b) {
  for (int64_t d = 0; d < a.rank(); ++d) a[d] -= b[d];
  return a;
}
inline Index operator*(Index a, const Index& b) {
  for (int64_t d = 0; d < a.rank(); ++d) a[d] *= b[d];
  return a;
}

// Clamps i to [low, high] in each dimension; `high` wins if low > high.
inline Index Clamp(const Index& low, Index i, const Index& high) {
  for (int64_t d = 0; d < i.rank(); ++d) i[d] = std::min(std::max(i[d], low[d]), high[d]);
  return i;
}

inline bool InBounds(const Index& i, absl::Span<const int64_t> dims) {
  for (int64_t d = 0; d < i.rank(); ++d) {
    if (i[d] < 0 || i[d] >= dims[d]) return false;
  }
  return true;
}

// Returns values[positions[0]], values[positions[1]], ...
inline Index Pick(absl::Span<const int64_t> values, absl::Span<const int64_t> positions) {
  Index result;
  for (int64_t p : positions) result.push_back(values[p]);
  return result;
}

// True if sums of a few such numbers cannot overflow 64 bits.
inline bool WithinReach(int64_t extent) {
  constexpr int64_t kReach = int64_t{1} << 60;
  return -kReach < extent && extent < kReach;
}

inline bool Contains(absl::Span<const int64_t> values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Returns 0, ..., rank-1 without the dimensions in `a` and `b`.
inline Index OtherDims(int64_t rank, absl::Span<const int64_t> a, absl::Span<const int64_t> b = {}) {
  Index result;
  for (int64_t d = 0; d < rank; ++d) {
    if (!Contains(a, d) && !Contains(b, d)) result.push_back(d);
  }
  return result;
}

// Returns the inverse permutation: inverse[permutation[k]] = k.
inline Index Inverse(const Index& permutation) {
  Index inverse = Zeros(permutation.rank());
  for (int64_t k = 0; k < permutation.rank(); ++k) inverse[permutation[k]] = k;
  return inverse;
}

// Returns the row-major strides in elements; the last dimension has stride 1.
inline Index RowMajorStrides(absl::Span<const int64_t> dims) {
  Index strides = Zeros(static_cast<int64_t>(dims.size()));
  int64_t stride = 1;
  for (int64_t d = strides.rank() - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return strides;
}

// Returns the linear offset: the sum over d of i[d] * strides[d].
inline int64_t Offset(absl::Span<const int64_t> i, absl::Span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < i.size(); ++d) offset += i[d] * strides[d];
  return offset;
}

inline int64_t Product(absl::Span<const int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

// Iterates over all indices of an array in row-major order: for (const Index& i : EachIndex(dims)).
class EachIndex {
 public:
  explicit EachIndex(absl::Span<const int64_t> dims) : dims_(dims) {}

  struct End {};
  class Iterator {
   public:
    explicit Iterator(const Index& dims)
        : dims_(dims), i_(Zeros(dims.rank())), more_(std::find(dims.begin(), dims.end(), 0) == dims.end()) {}
    const Index& operator*() const { return i_; }
    Iterator& operator++() {
      for (int64_t d = i_.rank() - 1; d >= 0; --d) {
        if (++i_[d] < dims_[d]) return *this;
        i_[d] = 0;
      }
      more_ = false;
      return *this;
    }
    bool operator!=(End) const { return more_; }

   private:
    const Index& dims_;
    Index i_;
    bool more_;
  };

  Iterator begin() const { return Iterator(dims_); }
  End end() const { return {}; }

 private:
  Index dims_;
};

}  // namespace hlo
