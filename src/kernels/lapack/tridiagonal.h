#pragma once
// Hermitian matrices become tridiagonal.

#include <cstdint>

namespace hlo::factor {

// sytrd for the lower triangle of a matrix whose columns lie stride elements apart: q^H a q is real with this
// diagonal and `beside` it, q = H(0) H(1) ... with the reflectors, whose first elements are 1, left beneath
// the diagonal. The norm of a is about 1; the columns begin at a vector's alignment.
template <class T>
void Tridiagonalise(T* a, int64_t stride, int64_t n, double* diagonal, double* beside, T* taus);
int64_t TridiagonaliseScratchBytes(int64_t n, int64_t element_bytes);

}  // namespace hlo::factor
