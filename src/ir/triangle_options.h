#pragma once
// The options of triangular-solve (semantics 6.7), for all engines. LAPACK calls the transposition of its
// operand `op`, HLO transpose_a.

#include "hlo_run/module.h"
#include "types/matrix.h"

namespace hlo {

inline MatrixOp MatrixOpOf(TransposeA transpose) {
  return transpose == TransposeA::kTranspose ? MatrixOp::kTranspose
         : transpose == TransposeA::kAdjoint ? MatrixOp::kAdjoint
                                             : MatrixOp::kNone;
}
inline TransposeA TransposeAOf(MatrixOp op) {
  return op == MatrixOp::kTranspose ? TransposeA::kTranspose
         : op == MatrixOp::kAdjoint ? TransposeA::kAdjoint
                                    : TransposeA::kNoTranspose;
}

inline TriangleOptions TriangleOf(const Instruction& solve) {
  return {.left = solve.Get<attr::left_side>(),
          .lower = solve.Get<attr::lower>(),
          .unit_diagonal = solve.Get<attr::unit_diagonal>(),
          .op = MatrixOpOf(solve.Get<attr::transpose_a>())};
}

}  // namespace hlo
