#pragma once
// This file represents orthogonal factors as products of reflectors H = 1 - tau v v^H with v[0] = 1. The tail
// of v is stored in place of the eliminated elements.

#include "absl/types/span.h"
#include "types/matrix.h"

namespace hlo::reference::lapack {

// larfg: computes the reflector H with H^H x = (beta, 0, ...) for a column x, which is replaced by (beta,
// v[1], ...). Returns tau.
template <class T>
T MakeReflector(const Matrix<T>& x);

// geqrf: computes r in the upper triangle and the reflectors of q = H(0) H(1) ... below it.
template <class T>
void Geqrf(Matrix<T> a, absl::Span<T> taus);

// geqp3: like Geqrf, with column pivoting. Columns with a nonzero entry in `pivots` are moved to the front
// and not pivoted. On return, pivots[j] is the original number (from 1) of column j.
template <class T>
void Geqp3(Matrix<T> a, absl::Span<int64_t> pivots, absl::Span<T> taus);

// orgqr: replaces the reflectors in the first columns of a by the first a.columns columns of q.
template <class T>
void Orgqr(Matrix<T> a, absl::Span<const T> taus);

// ormqr: computes q c or q^H c, or c q or c q^H if not `left`.
template <class T>
void Ormqr(Matrix<const T> reflectors, absl::Span<const T> taus, Matrix<T> c, bool left, bool adjoint);

// gehrd: reduces a to upper Hessenberg form q^H a q, in rows and columns low to high (from 0).
template <class T>
void Gehrd(Matrix<T> a, int64_t low, int64_t high, absl::Span<T> taus);

// sytrd, hetrd: reduces a to tridiagonal form q^H a q, from one triangle of a.
template <class T>
void Sytrd(Matrix<T> a, bool lower, absl::Span<double> diagonal, absl::Span<double> off_diagonal,
           absl::Span<T> taus);

}  // namespace hlo::reference::lapack
