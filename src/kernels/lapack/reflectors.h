#pragma once
// Reflectors H = 1 - tau v v^H, one at a time, and matrices whose columns they change as lines: column c is
// row c of a Matrix of which each row begins at a multiple of 64 bytes and is padded to one. Padding that is
// 0 stays so where all numbers are finite.

#include <algorithm>

#include "kernels/lapack/lanes.h"
#include "linalg/matrix.h"

namespace hlo::factor {

using linalg::Matrix;

// Into how many pieces threads take a matrix of so many elements.
inline int64_t PieceCount(int64_t elements) { return std::clamp<int64_t>(elements / (32 << 10), 1, 32); }

// Columns of a matrix to lines, with zeros behind them.
template <class T>
void ReadLines(const Matrix<const T>& columns, const Matrix<T>& lines);
// The elements of lines from `begin` on to the rows of a matrix from there on.
template <class T>
void WriteLines(const Matrix<T>& lines, int64_t begin, const Matrix<T>& columns);
// Lines become columns of reflectors as they are stored: 1 on the diagonal, zeros above it.
template <class T>
void CompleteReflectors(const Matrix<T>& lines);

// larfg: H^H x = (beta, 0, ...) for the elements begin to end of x, which become v's, its 1 the first.
template <class T>
struct Reflector {
  double beta;
  T tau;
};
template <class T>
Reflector<T> Reflect(T* x, int64_t begin, int64_t end);
// The same where the caller has scaled what x is part of: elements beneath the square root of the smallest
// number count as 0.
template <class T>
Reflector<T> ReflectScaled(T* x, int64_t begin, int64_t end);

// lines -= factor v v^H lines for v with its 1 at `first`, on several threads where that is worth while. What
// stands before that, in v or in a line, counts for nothing and keeps its value.
template <class T>
void ApplyReflector(const T* v, int64_t first, T factor, const Matrix<T>& lines);

// The norm of a line's elements from `first` on, of any size.
template <class T>
double LineNorm(const Matrix<T>& lines, int64_t number, int64_t first);

// to = the sum of lines times their factors. Of line k, elements after number k are 0.
template <class T>
void CombineLines(const Matrix<T>& lines, const T* factors, T* to);

}  // namespace hlo::factor
