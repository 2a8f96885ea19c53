#pragma once
// The options of triangular-solve (semantics 6.7), for all engines.

#include "hlo_run/module.h"
#include "types/matrix.h"

namespace hlo {

inline TriangleOptions TriangleOf(const Instruction& solve) {
  const TransposeA op = solve.Get<attr::transpose_a>();
  return {.left = solve.Get<attr::left_side>(),
          .lower = solve.Get<attr::lower>(),
          .unit_diagonal = solve.Get<attr::unit_diagonal>(),
          .op = op == TransposeA::kTranspose ? MatrixOp::kTranspose
                : op == TransposeA::kAdjoint ? MatrixOp::kAdjoint
                                             : MatrixOp::kNone};
}

}  // namespace hlo
