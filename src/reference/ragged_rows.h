#pragma once
// The products of which a ragged-dot is the sum.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"
#include "types/index.h"

namespace hlo::reference {

// The group of position [b, m, k] of lhs is g; positions outside all groups contribute nothing:
//   ragged free dimension:         result[b, m, n] = sum over k of lhs[b, m, k] * rhs[g, b, k, n]
//   ragged contracting dimension:  result[g, b, m, n] = sum over the k in g of lhs[b, m, k] * rhs[b, k, n]
//   ragged batch dimension:        result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]
class RaggedRows {
 public:
  static absl::StatusOr<RaggedRows> Make(const Instruction& dot, const Literal& lhs, const Literal& rhs,
                                         const Literal& group_sizes);

  // The orders to which both operands are transposed.
  const Index& lhs_order() const { return lhs_order_; }
  const Index& rhs_order() const { return rhs_order_; }
  int64_t length() const { return n_; }

  // An element of lhs times the row of rhs that begins here, which are added to the row of the result.
  struct Row {
    int64_t lhs, rhs, result;
  };
  // Calls visit(row), which returns a status, for each element of lhs in a group.
  template <class Visit>
  absl::Status Each(Visit&& visit) const {
    int64_t lhs = 0;
    for (const Index& bmk : EachIndex(lhs_dims_)) {
      const int64_t bm = lhs / k_, bk = bm / m_ * k_ + lhs % k_;
      const int64_t g = group_of_[Offset(bmk, group_strides_)];
      if (g != kNone)
        HLO_RETURN_IF_ERROR(visit(Row{lhs, g * rhs_group_ + bk * n_, g * result_group_ + bm * n_}));
      ++lhs;
    }
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kNone = -1;
  void SetGroups(absl::Span<const int64_t> sizes, int64_t count, int64_t extent, int64_t prefixes);

  Index lhs_order_, rhs_order_;
  Index lhs_dims_;  // Transposed.
  int64_t m_ = 1, k_ = 1, n_ = 1;
  int64_t rhs_group_ = 0, result_group_ = 0;  // The elements of a group.
  std::vector<int64_t> group_of_;             // By position of the ragged dimension and those before it.
  Index group_strides_;                       // By dimension of lhs, transposed.
};

}  // namespace hlo::reference
