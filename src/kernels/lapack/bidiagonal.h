#pragma once
// Matrices become bidiagonal.

#include <cstdint>

#include "kernels/lapack/lanes.h"

namespace hlo::factor {

// A matrix in blocks of columns, each of which lies by rows, one after the other, so that a block stays in a
// cache while it is passed twice.
template <class T>
struct ColumnBlocks {
  static constexpr int kVectors = 4;
  static constexpr int64_t kWidth = kVectors * kElements<T>;
  static int64_t BlockCount(int64_t columns) { return (columns + kWidth - 1) / kWidth; }
  static int64_t ElementCount(int64_t rows, int64_t columns) { return BlockCount(columns) * rows * kWidth; }

  T& operator()(int64_t i, int64_t j) const { return Row(j / kWidth, i)[j % kWidth]; }
  T* Row(int64_t block, int64_t i) const { return data + (block * rows + i) * kWidth; }

  T* data;
  int64_t rows, columns;
};

// A matrix with at least as many rows as columns, and lines of memory for reflectors that begin at a vector's
// alignment.
template <class T>
struct BidiagonalProblem {
  ColumnBlocks<T> a;  // Its columns behind the last are 0.
  T* left;
  int64_t left_stride;
  T* right;
  int64_t right_stride;  // At least a whole number of blocks.
  T *left_taus, *right_taus;
};

// gebrd: p^H a q is real with this diagonal and the columns - 1 elements `above` it, p = H(0) H(1) ... with
// the reflectors in `left`, from element j of line j on, and q = G(0) G(1) ... with those in `right`, from
// element j + 1 on. The norm of a, which is overwritten, is about 1.
template <class T>
void Bidiagonalise(const BidiagonalProblem<T>& problem, double* diagonal, double* above);
int64_t BidiagonaliseScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes);

}  // namespace hlo::factor
