#pragma once
// Eigenvalues, singular values and Schur forms. Vectors are the columns of their matrices; each is defined up
// to a factor of modulus 1. What has no solution, such as NaNs, gives NaNs and a number other than 0.

#include "absl/types/span.h"
#include "linalg/matrix.h"

namespace hlo::linalg {

// syevd, heevd: a = v diag(w) v^H from one triangle of a, which v replaces; w ascends.
template <class T>
int64_t Syevd(Matrix<T> a, bool lower, absl::Span<double> w);

// gesdd: a = u diag(s) v^H, s descends. u and v may have as many columns as s has elements, or all; a matrix
// without data is not wanted.
template <class T>
int64_t Gesdd(Matrix<const T> a, absl::Span<double> s, Matrix<T> u, Matrix<T> v);

// gees: a = z t z^H with t upper triangular; for real matrices with blocks of two rows that have equal
// diagonal elements. `t` holds a before.
// `single`: the elements are of single precision.
int64_t Gees(Matrix<double> t, Matrix<double> z, absl::Span<Complex> eigenvalues, bool single = false);
int64_t Gees(Matrix<Complex> t, Matrix<Complex> z, absl::Span<Complex> eigenvalues, bool single = false);

// geev: a r = r diag(w), l^H a = diag(w) l^H; vectors of norm 1 whose largest component is real.
template <class T>
int64_t Geev(Matrix<const T> a, absl::Span<Complex> w, Matrix<Complex> left, Matrix<Complex> right);

}  // namespace hlo::linalg
