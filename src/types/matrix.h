#pragma once
// This file defines views of matrices and the options of triangular systems, which the factorisations of the
// reference and those of the kernels share.

#include <cmath>
#include <complex>
#include <cstdint>

namespace hlo {

// A strided view of a matrix in a buffer.
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0, columns = 0;
  int64_t row_stride = 0, column_stride = 0;

  // Returns a dense row-major matrix.
  static Matrix Dense(T* data, int64_t rows, int64_t columns) { return {data, rows, columns, columns, 1}; }

  T& operator()(int64_t i, int64_t j) const { return data[i * row_stride + j * column_stride]; }
  Matrix<const T> AsConst() const { return {data, rows, columns, row_stride, column_stride}; }
  Matrix Transposed() const { return {data, columns, rows, column_stride, row_stride}; }
  Matrix Block(int64_t i, int64_t j, int64_t block_rows, int64_t block_columns) const {
    return {data + i * row_stride + j * column_stride, block_rows, block_columns, row_stride, column_stride};
  }
  Matrix Column(int64_t j) const { return Block(0, j, rows, 1); }
};

inline double Conj(double x) { return x; }
inline std::complex<double> Conj(std::complex<double> x) { return std::conj(x); }

// Returns the magnitude by which LAPACK selects pivots.
inline double PivotSize(double x) { return std::abs(x); }
inline double PivotSize(std::complex<double> x) { return std::abs(x.real()) + std::abs(x.imag()); }

enum class MatrixOp { kNone, kTranspose, kAdjoint };
// Describes a system op(a) x = b, or x op(a) = b if not `left`, with triangular a.
struct TriangleOptions {
  bool left = true, lower = true, unit_diagonal = false;
  MatrixOp op = MatrixOp::kNone;
};

}  // namespace hlo
