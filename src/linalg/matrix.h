#pragma once
// This file defines a strided view of a matrix in a buffer. All functions of this folder exist for double and
// std::complex<double> and follow the conventions of the LAPACK functions of the same names.

#include <cmath>
#include <complex>
#include <cstdint>

namespace hlo::linalg {

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

using Complex = std::complex<double>;

inline double Conj(double x) { return x; }
inline Complex Conj(Complex x) { return std::conj(x); }

// Returns the magnitude by which LAPACK selects pivots.
inline double PivotSize(double x) { return std::abs(x); }
inline double PivotSize(Complex x) { return std::abs(x.real()) + std::abs(x.imag()); }

}  // namespace hlo::linalg
