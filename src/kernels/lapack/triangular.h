#pragma once
// Factors of positive definite matrices and solutions of triangular systems (semantics 6.6 and 6.7), by
// halves: what is not on the diagonal is products of matrices.

#include "kernels/lapack/product.h"
#include "linalg/systems.h"

namespace hlo::factor {

// l l^H = a in place; of a's upper triangle nothing is read or changed. Returns 0, or the order of the first
// leading minor that is not positive, as LAPACK's potrf: then element (order - 1, order - 1) is what its root
// would have been taken of, and the elements after it are anything.
template <class T>
int64_t Cholesky(const Matrix<T>& a);

// b becomes x with op(a) x = b, or x op(a) = b where not `left`, as BLAS's trsm. One triangle of a is read.
template <class T>
void SolveTriangular(const Source<T>& a, const Matrix<T>& b, const linalg::TriangleOptions& options);

}  // namespace hlo::factor
