#pragma once
// This file computes Cholesky factors and solves triangular systems (semantics 6.6 and 6.7) recursively by
// halves; off-diagonal blocks are matrix products.

#include "kernels/lapack/product.h"
#include "types/matrix.h"

namespace hlo::lapack {

// potrf: factors a = l l^H in place. The upper triangle of a is neither read nor written. Returns 0, or the
// order of the first leading minor that is not positive. Element (order - 1, order - 1) is then the value
// whose root would have been taken, and the elements after it are unspecified.
template <class T>
int64_t Cholesky(const Matrix<T>& a);

// trsm: replaces b by x with op(a) x = b, or x op(a) = b if not `left`. Only one triangle of a is read.
template <class T>
void SolveTriangular(const Source<T>& a, const Matrix<T>& b, const TriangleOptions& options);

}  // namespace hlo::lapack
