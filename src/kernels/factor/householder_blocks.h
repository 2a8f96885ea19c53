#pragma once
<<<<<<< HEAD
// Reflectors H = 1 - tau v v^H, and matrices whose columns they change as lines: column c is row c of a
// Matrix of which each row begins at a multiple of 64 bytes and is padded to one. Of v, only elements from
// that before its 1 on are read; padding that is 0 stays so where all numbers are finite.

#include <cstdint>

=======
// Reflectors H = 1 - tau v v^H with v[0] = 1, one or many at a time.

#include "kernels/factor/lanes.h"
>>>>>>> 7025c4a0 (Eigenvalues and eigenvectors of Hermitian matrices by divide and conquer: 512 rows in 15 ms instead of 101)
#include "linalg/matrix.h"

namespace hlo::factor {

<<<<<<< HEAD
using linalg::Complex;
using linalg::Matrix;

// Elements from one line to the next: an odd multiple of 64 bytes, for elements that lie a power of two apart
// get into each other's way in the cache.
constexpr int64_t LineStride(int64_t length, int64_t element_bytes) {
  return ((length * element_bytes + 63) / 64 | 1) * 64 / element_bytes;
}

// Columns of a matrix to lines, with zeros behind them.
template <class T>
void ReadLines(const Matrix<const T>& columns, const Matrix<T>& lines);
// The elements of lines from `begin` on to the rows of a matrix from there on.
template <class T>
void WriteLines(const Matrix<T>& lines, int64_t begin, const Matrix<T>& columns);
// Lines become columns of reflectors as they are stored: 1 on the diagonal, zeros above it.
template <class T>
void CompleteReflectors(const Matrix<T>& lines);

// larfg: the reflector that makes zeros behind element `first` of a line. The line becomes v, with its 1
// there and zeros before; `beta` is what stands there afterwards.
template <class T>
struct Reflector {
  T tau, beta;
};
template <class T>
Reflector<T> Reflect(const Matrix<T>& lines, int64_t line, int64_t first);

// lines -= factor v v^H lines for v with its 1 at `first`, on several threads where that is worth while.
template <class T>
void ApplyReflector(const T* v, int64_t first, T factor, const Matrix<T>& lines);

// The norm of a line's elements from `first` on, of any size.
template <class T>
double LineNorm(const Matrix<T>& lines, int64_t number, int64_t first);

// to = the sum of lines times their factors. Of line k, elements after number k are 0.
template <class T>
void CombineLines(const Matrix<T>& lines, const T* factors, T* to);

// The product of two numbers as the definition says it: std::complex asks for NaNs first.
inline double Times(double a, double b) { return a * b; }
inline Complex Times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
=======
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
>>>>>>> 7025c4a0 (Eigenvalues and eigenvectors of Hermitian matrices by divide and conquer: 512 rows in 15 ms instead of 101)

// geqrf of a matrix whose columns are the first `length` elements of so many lines: r(i, j) for i < j becomes
// element i of line j, the diagonal of r `diagonal`, and what follows reflectors of q = H(0) H(1) ...
template <class T>
void FactorLines(T* lines, int64_t stride, int64_t count, int64_t length, T* diagonal, T* taus);

}  // namespace hlo::factor
