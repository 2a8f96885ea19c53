#pragma once
// This file reduces Hermitian matrices to tridiagonal form.

#include <cstdint>

namespace hlo::lapack {

// sytrd for the lower triangle of a column-major matrix with this leading dimension: q^H a q is real and
// tridiagonal with this diagonal and off-diagonal. The reflectors of q = H(0) H(1) ... are stored below the
// diagonal, including their leading 1. The norm of a is about 1, and its columns are aligned.
template <class T>
void Tridiagonalise(T* a, int64_t stride, int64_t n, double* diagonal, double* off_diagonal, T* taus);
int64_t TridiagonaliseScratchBytes(int64_t n, int64_t element_bytes);

}  // namespace hlo::lapack
