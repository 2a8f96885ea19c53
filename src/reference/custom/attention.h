#pragma once
// The parameters of cuDNN's attention (semantics 9.7).

#include <string>

#include "hlo_run/module.h"
#include "types/index.h"

namespace hlo::reference::custom {

// The configuration of a call, the operand numbers and the sizes.
struct Attention {
  double scale = 1;
  bool causal = false, padding = false;
  int64_t window = 0;  // 0 means none.
  // The dimension permutations of q, k and v to [B, N, rows, width].
  Index q_order, k_order, v_order;
  Index q, k, v;  // Sizes in this order.
  int bias = -1, lengths = -1, stats = -1, gradient = -1, output = -1;

  int64_t batches() const { return q[0]; }
  int64_t heads() const { return q[1]; }
  int64_t queries() const { return q[2]; }
  int64_t keys() const { return k[2]; }
  Index output_dims() const { return {q[0], q[1], q[2], v[3]}; }
  Index score_dims() const { return {q[0], q[1], q[2], k[2]}; }
};

// Reads the parameters of a call; returns why they do not fit, or "".
std::string ReadAttention(const Instruction& call, Attention* attention);

}  // namespace hlo::reference::custom
