#pragma once
// Products of rows, terms or matrices in groups whose sizes are data (semantics 6.2): one product of matrices
// for each group.

#include <optional>

#include "absl/container/inlined_vector.h"
#include "kernels/cpu/gemm/dot_general.h"

namespace hlo::cpu {

struct RaggedDims {
  DotSide lhs, rhs;
  int64_t ragged;                    // Of lhs.
  absl::Span<const int64_t> groups;  // Of rhs: its group dimension, if it has one.
};

class RaggedDot {
 public:
  // Of arrays without data. nullopt: groups that differ along contracting dimensions, or types that Gemm does
  // not take.
  static std::optional<RaggedDot> Make(const DenseArray& lhs, const DenseArray& rhs, const DenseArray& sizes,
                                       const RaggedDims& dims, const DenseArray& out);

  // False, and nothing is done, where a size is negative. out is dense and overlaps no operand.
  bool Run(const void* lhs, const void* rhs, const void* sizes, void* out) const;

 private:
  // A dimension of the product, and what a step along it is in each array.
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
  // The axes along which sizes differ become the prefix: those before the ragged one, batch dimensions first.
  // False: contracting ones are among them.
  bool TakePrefix();
  Arrays Moved(const Arrays& arrays, const Axis& axis, int64_t steps) const;
  void RunPrefix(const Arrays& arrays, const void* sizes) const;
  void RunGroup(const Arrays& arrays, int64_t size) const;

  ElementType lhs_type_, rhs_type_, out_type_, sizes_type_;
  Axes prefix_, batch_, rows_, terms_, columns_;
  Axis ragged_ = {}, group_ = {};
  int64_t out_count_ = 0;
};

}  // namespace hlo::cpu
