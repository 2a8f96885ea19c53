#pragma once
// Orthogonal factors as products of reflectors H = 1 - tau v v^H with v[0] = 1, v's tail stored where it made
// zeros.

#include "absl/types/span.h"
#include "linalg/matrix.h"

namespace hlo::linalg {

// geqrf: r in the upper triangle, below it the reflectors of q = H(0) H(1) ...
template <class T>
void Geqrf(Matrix<T> a, absl::Span<T> taus);

// geqp3: the same with column pivoting. Columns whose number in `pivots` is not 0 go to the front as they
// are; in the end pivots[j] is the number (from 1) of the column that stands at j.
template <class T>
void Geqp3(Matrix<T> a, absl::Span<int64_t> pivots, absl::Span<T> taus);

// orgqr: the first columns of q, as many as a has, in place of the reflectors in its first columns.
template <class T>
void Orgqr(Matrix<T> a, absl::Span<const T> taus);

// ormqr: q c, q^H c, or with q on the right.
template <class T>
void Ormqr(Matrix<const T> reflectors, absl::Span<const T> taus, Matrix<T> c, bool left, bool adjoint);

// gehrd: q^H a q is zero below the diagonal under the main one; rows and columns low to high (from 0) take
// part.
template <class T>
void Gehrd(Matrix<T> a, int64_t low, int64_t high, absl::Span<T> taus);

// sytrd, hetrd: q^H a q is tridiagonal, from one triangle of a.
template <class T>
void Sytrd(Matrix<T> a, bool lower, absl::Span<double> diagonal, absl::Span<double> beside,
           absl::Span<T> taus);

}  // namespace hlo::linalg
