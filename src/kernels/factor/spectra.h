#pragma once
// Eigenvalues of Hermitian matrices, with the contract of linalg/spectral.h. Results do
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
int64_t SyevdScratchBytes(int64_t n, int64_t element_bytes, bool vectors);

}  // namespace hlo::factor
