#pragma once
// This file reduces matrices to bidiagonal form.

#include <cstdint>

#include "base/arithmetic.h"
#include "kernels/lapack/lanes.h"

namespace hlo::lapack {

// A matrix in blocks of columns. Each block is stored contiguously in row-major order, so that it stays in
// the cache for two passes.
template <class T>
struct ColumnBlocks {
  static constexpr int kVectors = 4;
  static constexpr int64_t kWidth = kVectors * kElements<T>;
  static int64_t BlockCount(int64_t columns) { return CeilDiv(columns, kWidth); }
  static int64_t ElementCount(int64_t rows, int64_t columns) { return BlockCount(columns) * rows * kWidth; }

  T& operator()(int64_t i, int64_t j) const { return Row(j / kWidth, i)[j % kWidth]; }
  T* Row(int64_t block, int64_t i) const { return data + (block * rows + i) * kWidth; }

  T* data;
  int64_t rows, columns;
};

// A matrix with at least as many rows as columns, and aligned storage for the reflectors.
template <class T>
struct BidiagonalProblem {
  ColumnBlocks<T> a;  // Padding columns are 0.
  T* left;
  int64_t left_stride;
  T* right;
  int64_t right_stride;  // At least a multiple of the block width.
  T *left_taus, *right_taus;
};

// gebrd: computes p^H a q, which is real and upper bidiagonal with this diagonal and the columns - 1 elements
// `above` it. The reflectors of p = H(0) H(1) ... are stored in `left`, from element j of row j on, those of
// q = G(0) G(1) ... in `right`, from element j + 1 on. The norm of a is about 1; a is overwritten.
template <class T>
void Bidiagonalise(const BidiagonalProblem<T>& problem, double* diagonal, double* above);
int64_t BidiagonaliseScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes);

}  // namespace hlo::lapack
