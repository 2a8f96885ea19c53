#pragma once
// Eigenvalues of Hermitian matrices and singular values, with the contracts of linalg/spectral.h. Results do
// not depend on the number of threads.

#include "absl/types/span.h"
#include "linalg/matrix.h"

namespace hlo::factor {

using linalg::Complex;
using linalg::Matrix;

// syevd, heevd: a = v diag(w) v^H from one triangle of a, which v replaces where `vectors` are wanted; else a
// stays. w ascends. A matrix with NaN or infinity gives NaNs and a number other than 0.
template <class T>
int64_t Syevd(Matrix<T> a, bool lower, absl::Span<double> w, bool vectors = true);
// Scratch memory besides that of Product, where one stride of a is 1.
int64_t SyevdScratchBytes(int64_t n, int64_t element_bytes, bool vectors);

// gesdd: a = u diag(s) v^H, s descends. u and v may have as many columns as s has elements, or all; a matrix
// without data is not wanted.
template <class T>
int64_t Gesdd(Matrix<const T> a, absl::Span<double> s, Matrix<T> u, Matrix<T> v);
// Likewise where one stride of u and of v is 1.
int64_t GesddScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes, bool u, bool v);

}  // namespace hlo::factor
