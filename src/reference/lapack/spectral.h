#pragma once
// This file computes eigenvalues, singular values and Schur forms. Vectors are the columns of their matrices
// and are unique up to a factor of modulus 1. Those of small Hermitian matrices and singular vectors of small
// matrices have the factors that LAPACK gives them in the precision of the arrays. If there is no solution,
// for example because of NaNs, the results are NaN and the return value is not 0.

#include <complex>

#include "absl/types/span.h"
#include "types/lapack_signs.h"
#include "types/matrix.h"

namespace hlo::reference::lapack {

using Complex = std::complex<double>;

// syevd, heevd: factors a = v diag(w) v^H from one triangle of a, which v replaces; w ascends.
template <class T>
int64_t Syevd(Matrix<T> a, bool lower, absl::Span<double> w,
              RealPrecision precision = RealPrecision::kDouble);

// gesdd: factors a = u diag(s) v^H, with s descending. u and v may have as many columns as s has elements, or
// all. A matrix without data is not computed.
template <class T>
int64_t Gesdd(Matrix<const T> a, absl::Span<double> s, Matrix<T> u, Matrix<T> v,
              RealPrecision precision = RealPrecision::kDouble);

// gees: factors a = z t z^H with t upper triangular, or quasi-triangular for real matrices, with 2 x 2 blocks
// in standard form. `t` holds a initially. `single` is true if the elements are of single precision.
int64_t Gees(Matrix<double> t, Matrix<double> z, absl::Span<Complex> eigenvalues, bool single = false);
int64_t Gees(Matrix<Complex> t, Matrix<Complex> z, absl::Span<Complex> eigenvalues, bool single = false);

// geev: computes a r = r diag(w) and l^H a = diag(w) l^H. Vectors have norm 1 and a real largest component,
// which is positive if a is complex.
template <class T>
int64_t Geev(Matrix<const T> a, absl::Span<Complex> w, Matrix<Complex> left, Matrix<Complex> right,
             bool single = false);

}  // namespace hlo::reference::lapack
