#pragma once
// This file applies single reflectors H = 1 - tau v v^H. The columns of the matrix are stored as lines:
// column c is row c of a Matrix whose rows are aligned and padded to 64 bytes. Zero padding stays zero if all
// numbers are finite.

#include <algorithm>

#include "kernels/lapack/lanes.h"
#include "types/matrix.h"

namespace hlo::lapack {

// Returns the number of parallel work items for a matrix of this size.
inline int64_t PieceCount(int64_t elements) { return std::clamp<int64_t>(elements / (32 << 10), 1, 32); }

// Copies the columns of a matrix to lines and zeroes the padding.
template <class T>
void ReadLines(const Matrix<const T>& columns, const Matrix<T>& lines);
// Copies elements `begin` and on of each line to the matrix.
template <class T>
void WriteLines(const Matrix<T>& lines, int64_t begin, const Matrix<T>& columns);
// Completes lines to full vectors v: 1 on the diagonal, zeros before it.
template <class T>
void CompleteReflectors(const Matrix<T>& lines);

// larfg: H^H x = (beta, 0, ...) for elements [begin, end) of x, which are replaced by v with v[begin] = 1.
template <class T>
struct Reflector {
  double beta;
  T tau;
};
template <class T>
Reflector<T> Reflect(T* x, int64_t begin, int64_t end);
// Performs Reflect for a scaled matrix: elements below the square root of the smallest number count as 0.
template <class T>
Reflector<T> ReflectScaled(T* x, int64_t begin, int64_t end);

// Computes lines -= factor v v^H lines for v with its 1 at `first`, with several threads if worthwhile.
// Elements before `first` are ignored in v and unchanged in the lines.
template <class T>
void ApplyReflector(const T* v, int64_t first, T factor, const Matrix<T>& lines);

// Returns the norm of a line's elements from `first` on, without overflow or underflow.
template <class T>
double LineNorm(const Matrix<T>& lines, int64_t number, int64_t first);

// Computes to = sum of factors[k] * line k. Elements of line k after index k are 0.
template <class T>
void CombineLines(const Matrix<T>& lines, const T* factors, T* to);

}  // namespace hlo::lapack
