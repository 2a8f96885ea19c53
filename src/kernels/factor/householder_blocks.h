#pragma once
// Reflectors H = 1 - tau v v^H with v[0] = 1, one or many at a time.

#include "kernels/factor/lanes.h"
#include "linalg/matrix.h"

namespace hlo::factor {

// larfg: H^H x = (beta, 0, ...) for the elements begin to end of x, which become v's. Elements beneath the
// square root of the smallest number count as 0: the caller has scaled what they are part of.
template <class T>
struct Reflection {
  double beta;
  T tau;
};
template <class T>
Reflection<T> MakeReflector(T* x, int64_t begin, int64_t end);

// Reflectors 0, 1, ...: row j holds v's elements from `shift + j` on, those before are undefined.
template <class T>
struct Reflectors {
  const T* rows;
  int64_t row_stride;
  int64_t count, length, shift;
  const T* taus;
};

// x = H(0) H(1) ... x, or the adjoint of that product; of x one stride is 1.
template <class T>
void ApplyReflectors(const Reflectors<T>& reflectors, const linalg::Matrix<T>& x, bool adjoint = false);
// Bytes of scratch memory that takes, with x of so many columns.
int64_t ApplyReflectorsScratchBytes(int64_t count, int64_t length, int64_t columns, int64_t element_bytes);

// geqrf of a matrix whose columns are the first `length` elements of lines: r(i, j) for i < j becomes element
// i of line j, the diagonal of r `diagonal`, and what follows reflectors of q = H(0) H(1) ...
template <class T>
struct LineFactors {
  T* lines;
  int64_t stride, length;
  T *diagonal, *taus;
};
// Lines begin to end, from row `begin` on.
template <class T>
void FactorLines(const LineFactors<T>& factors, int64_t begin, int64_t end);

}  // namespace hlo::factor
