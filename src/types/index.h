#pragma once
// Positions in arrays, and arithmetic on them, one entry for each dimension.

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
      : InlinedVector(values.begin(), values.end()) {}  // NOLINT: a list is one

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

// The nearest index between two others; `high` counts where they cross.
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

// values[positions[0]], values[positions[1]], ...
inline Index Pick(absl::Span<const int64_t> values, absl::Span<const int64_t> positions) {
  Index result;
  for (int64_t p : positions) result.push_back(values[p]);
  return result;
}

// Whether sums of a few such numbers fit into 64 bits.
inline bool WithinReach(int64_t extent) {
  constexpr int64_t kReach = int64_t{1} << 60;
  return -kReach < extent && extent < kReach;
}

// 0, ..., rank-1 without those listed.
inline Index OtherDims(int64_t rank, absl::Span<const int64_t> a, absl::Span<const int64_t> b = {}) {
  Index result;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::find(a.begin(), a.end(), d) == a.end() && std::find(b.begin(), b.end(), d) == b.end())
      result.push_back(d);
  }
  return result;
}

// The permutation that undoes another one: inverse[permutation[k]] = k.
inline Index Inverse(const Index& permutation) {
  Index inverse = Zeros(permutation.rank());
  for (int64_t k = 0; k < permutation.rank(); ++k) inverse[permutation[k]] = k;
  return inverse;
}

// Distances between neighbours in row-major order: the last dimension varies fastest.
inline Index RowMajorStrides(absl::Span<const int64_t> dims) {
  Index strides = Zeros(static_cast<int64_t>(dims.size()));
  int64_t stride = 1;
  for (int64_t d = strides.rank() - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return strides;
}

// The place of element i: the sum over d of i[d] * strides[d].
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

// Every index of an array in row-major order: for (const Index& i : EachIndex(dims)).
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
