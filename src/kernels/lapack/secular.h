#pragma once
// This file solves secular equations 1 + sum over j of weights[j] / (poles[j] - x) = 0. Their roots are the
// eigenvalues of a diagonal matrix plus a rank-1 matrix or, with squared poles, the squared singular values
// of a diagonal matrix whose first row is replaced.

#include <cstdint>

namespace hlo::lapack {

struct SecularEquation {
  int64_t count;
  const double* poles;    // Ascending; `squares`: the poles are their squares.
  const double* weights;  // All are positive.
  bool squares = false;

  // Returns the difference of two poles without cancellation.
  double Gap(int64_t j, int64_t origin) const {
    const double gap = poles[j] - poles[origin];
    return squares ? gap * (poles[j] + poles[origin]) : gap;
  }
};

// Finds all roots, or their square roots if `squares`; root i is greater than pole i. Sets row i of
// `distances` to pole j - root i for all j, and replaces `weights` by those for which the roots are exact.
void SolveSecularEquation(const SecularEquation& equation, double* roots, double* distances,
                          int64_t row_stride, double* weights);

}  // namespace hlo::lapack
