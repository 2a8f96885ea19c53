#pragma once
// Matrices become bidiagonal.

#include <cstdint>

namespace hlo::factor {

// A matrix with at least as many rows as columns, rows `stride` elements apart, and lines of memory for the
// reflectors that make zeros in its columns, `left_stride` elements apart.
template <class T>
struct BidiagonalProblem {
  T* a;
  int64_t stride, rows, columns;
  T* left;
  int64_t left_stride;
  T *left_taus, *right_taus;
};

// gebrd: p^H a q is real with this diagonal and the columns - 1 elements `above` it. p = H(0) H(1) ... with
// the reflectors in `left`, q = G(0) G(1) ... with those in a's rows behind the diagonal. The norm of a is
// about 1; its rows and those of `left` begin at a vector's alignment.
template <class T>
void Bidiagonalise(const BidiagonalProblem<T>& problem, double* diagonal, double* above);
int64_t BidiagonaliseScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes);

}  // namespace hlo::factor
