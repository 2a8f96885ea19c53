// Cholesky factorisation and triangular solve (semantics 6.6, 6.7).

#include "base/status.h"
#include "ir/triangle_options.h"
#include "reference/custom/slices.h"
#include "reference/lapack/systems.h"
#include "reference/op.h"

namespace hlo::reference {

// Returns the triangular factor of each matrix; the other triangle is zero. A matrix that is not positive
// definite gives NaN everywhere.
absl::StatusOr<Literal> Cholesky(OpContext& context) {
  const bool lower = context.instruction.Get<attr::lower>();
  return custom::EachMatrix(context, 0, [&]<class T>(custom::Slice<T> slice) -> absl::Status {
    const Matrix<T> factor = slice.Copy(0, 0);
    HLO_ASSIGN_OR_RETURN(const int64_t order, lapack::Potrf(factor, lower));
    lapack::FinishCholesky(lower ? factor : factor.Transposed(), order);
    return absl::OkStatus();
  });
}

// Solves op(A) X = B for X, or X op(A) = B if left_side is false. Only one triangle of A is read.
absl::StatusOr<Literal> TriangularSolve(OpContext& context) {
  const TriangleOptions options = TriangleOf(context.instruction);
  return custom::EachMatrix(context, 0, [&]<class T>(custom::Slice<T> slice) {
    return lapack::Trsm(slice.in(0), slice.Copy(1, 0), options);
  });
}

}  // namespace hlo::reference
