#pragma once
// This file multiplies groups of rows, terms or matrices whose sizes are data (semantics 6.2), with one
// matrix product per group.

#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/memory/dense_array.h"

namespace hlo::cpu {

struct RaggedDims {
  // The dimensions of an operand, in pairs with those of the other.
  struct Side {
    absl::Span<const int64_t> batch, contracting;
  };
  Side lhs, rhs;
  int64_t ragged;                    // A dimension of lhs.
  absl::Span<const int64_t> groups;  // The group dimension of rhs, if any.
};

class RaggedDot {
 public:
  // Plans the product for arrays without data. Returns nullopt if group sizes differ along contracting
  // dimensions or if Gemm does not support the types.
  static std::optional<RaggedDot> Make(const DenseArray& lhs, const DenseArray& rhs, const DenseArray& sizes,
                                       const RaggedDims& dims, const DenseArray& out);

  // Returns false, and writes nothing, if a size is negative. `out` is dense and overlaps no operand.
  bool Run(const void* lhs, const void* rhs, const void* sizes, void* out) const;

 private:
  // A dimension of the product, with its stride in each array.
  struct Axis {
    int64_t size, lhs, rhs, out;
    bool is_ragged = false;
  };
  using Axes = absl::InlinedVector<Axis, 4>;
  struct Arrays {
    const void *lhs, *rhs;
    void* out;
  };

  RaggedDot() = default;
  void AddAxes(const DenseArray& lhs, const DenseArray& rhs, const RaggedDims& dims, const DenseArray& out);
  // Moves the axes along which group sizes differ, those before the ragged one, into the prefix, batch
  // dimensions first. Returns false if a contracting axis is among them.
  bool MoveAxesToPrefix();
  Arrays Moved(const Arrays& arrays, const Axis& axis, int64_t steps) const;
  void RunPrefix(const Arrays& arrays, const void* sizes) const;
  void RunGroup(const Arrays& arrays, int64_t size) const;

  ElementType lhs_type_, rhs_type_, out_type_, sizes_type_;
  Axes prefix_, batch_, rows_, terms_, columns_;
  Axis ragged_ = {}, group_ = {};
  int64_t out_count_ = 0;
};

}  // namespace hlo::cpu
