#pragma once
// Secular equations 1 + sum over j of weights[j] / (poles[j] - x) = 0: the eigenvalues of a diagonal matrix
// with one of rank 1 added, and with squares for poles the singular values of one with another first row.

#include <cstdint>

#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::factor {

struct SecularEquation {
  int64_t count;
  const double* poles;    // They ascend; each, or where `squares` its square, is a pole.
  const double* weights;  // All are positive.
  bool squares = false;

  // A difference of poles, with all its digits.
  double Gap(int64_t j, int64_t origin) const {
    const double gap = poles[j] - poles[origin];
    return squares ? gap * (poles[j] + poles[origin]) : gap;
  }
};

// Finds all roots, or their square roots where poles are `squares`; root i lies above pole i. Row i of
// `distances` becomes pole j - root i for all j; `weights` become those for which these roots are exact.
void SolveSecularEquation(const SecularEquation& equation, double* roots, double* distances,
                          int64_t row_stride, double* weights);

}  // namespace hlo::factor
