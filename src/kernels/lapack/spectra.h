#pragma once
// This file computes eigenvalues of Hermitian matrices and singular values, with the interface of
// reference/lapack/spectral.h. Results do not depend on the number of threads. The vectors of small matrices
// have the signs that LAPACK gives them in the precision of the arrays.

#include "absl/types/span.h"
#include "types/lapack_signs.h"
#include "types/matrix.h"

namespace hlo::lapack {

// syevd, heevd: factors a = v diag(w) v^H from one triangle of a, with w ascending. v replaces a if `vectors`
// is true; otherwise a is unchanged. If a is not finite, the results are NaN and the return value is not 0.
template <class T>
int64_t Syevd(Matrix<T> a, bool lower, absl::Span<double> w, bool vectors = true,
              RealPrecision precision = RealPrecision::kDouble);
// Returns the bytes of scratch memory besides that of Product, if one stride of a is 1.
int64_t SyevdScratchBytes(int64_t n, int64_t element_bytes, bool vectors);

// gesdd: factors a = u diag(s) v^H, with s descending. u and v may have as many columns as s has elements, or
// all. A matrix without data is not computed.
template <class T>
int64_t Gesdd(Matrix<const T> a, absl::Span<double> s, Matrix<T> u, Matrix<T> v,
              RealPrecision precision = RealPrecision::kDouble);
// Returns the same for Gesdd, if one stride of u and of v is 1.
int64_t GesddScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes, bool u, bool v);

}  // namespace hlo::lapack
