#pragma once
// The parameters of an attention of cuDNN or TransformerEngine (semantics 9.7).

#include <string>

#include "hlo_run/module.h"
#include "types/index.h"

namespace hlo::reference::custom {

// The configuration of a call, the operand numbers and the sizes.
struct Attention {
  double scale = 1;
  bool causal = false, padding = false;
  int64_t window = 0;  // 0 means none.
  int64_t shift = 0;   // A query t has the position t + shift among the keys, for `causal` and `window`.
  // q, k and v (2: only k and v) are slices of dimension `packed_dim` of one array; 0 if they are not.
  int packed = 0;
  int64_t packed_dim = 0;
  // The dimension permutations of q, k and v to [B, N, rows, width].
  Index q_order, k_order, v_order;
  // Results have the order of their operands. Otherwise they may be [B, N, rows, width], which is assumed
  // where the sizes fit both.
  bool has_ordered_results = false;
  Index q, k, v;  // Sizes in this order.
  int bias = -1, lengths = -1, stats = -1, gradient = -1, output = -1;
  bool cumulative = false;  // The lengths are [0, n0, n0 + n1, ...].

  // The operand that holds q, k or v (number 0, 1 or 2), and the result of a backward call with its gradient;
  // the slice is -1 if that array is not packed.
  struct Place {
    int array, slice;
  };
  Place input(int number) const {
    if (packed == 3) return {0, number};
    return packed == 2 && number > 0 ? Place{1, number - 1} : Place{number, -1};
  }
  const Index& order(int number) const { return number == 0 ? q_order : number == 1 ? k_order : v_order; }
  const Index& sizes(int number) const { return number == 0 ? q : number == 1 ? k : v; }

  int64_t batches() const { return q[0]; }
  int64_t heads() const { return q[1]; }
  int64_t queries() const { return q[2]; }
  int64_t keys() const { return k[2]; }
  // True if an array of these sizes is a result in the order [B, N, rows, width].
  bool IsCanonicalResult(absl::Span<const int64_t> dims, const Index& canonical) const {
    return !has_ordered_results && dims == absl::MakeConstSpan(canonical);
  }
  Index output_dims() const { return {q[0], q[1], q[2], v[3]}; }
  Index score_dims() const { return {q[0], q[1], q[2], k[2]}; }
};

// Reads the parameters of a call; returns why they do not fit, or "".
std::string ReadAttention(const Instruction& call, Attention* attention);

}  // namespace hlo::reference::custom
