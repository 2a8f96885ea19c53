#pragma once
// Matrices of f64 and c128 in device memory, and the arithmetic of their elements.

#include <cmath>
#include <limits>

#include "kernels/cuda/intrinsics/number.h"
#include "kernels/cuda/vm/vm_complex.h"

namespace hlo::cuda {

using WideComplex = ComplexNumber<double>;

HLO_DEVICE double Negated(double x) { return -x; }
HLO_DEVICE WideComplex Negated(WideComplex x) { return {-x.re, -x.im}; }
HLO_DEVICE double Conjugated(double x) { return x; }
HLO_DEVICE WideComplex Conjugated(WideComplex x) { return {x.re, -x.im}; }
HLO_DEVICE double RealPart(double x) { return x; }
HLO_DEVICE double RealPart(WideComplex x) { return x.re; }
HLO_DEVICE double Quotient(double x, double y) { return x / y; }
HLO_DEVICE WideComplex Quotient(WideComplex x, double y) { return {x.re / y, x.im / y}; }
HLO_DEVICE WideComplex Quotient(WideComplex x, WideComplex y) {
  const vm_complex::Z z = vm_complex::Divide({x.re, x.im}, {y.re, y.im});
  return {z.re, z.im};
}
HLO_DEVICE double Product(double x, double y) { return x * y; }
HLO_DEVICE WideComplex Product(WideComplex x, WideComplex y) { return MultiplyAdd(x, y, WideComplex{}); }
HLO_DEVICE double Scaled(double x, double factor) { return x * factor; }
HLO_DEVICE WideComplex Scaled(WideComplex x, double factor) { return {x.re * factor, x.im * factor}; }
HLO_DEVICE double ImaginaryPart(double) { return 0; }
HLO_DEVICE double ImaginaryPart(WideComplex x) { return x.im; }
HLO_DEVICE double SquaredSize(double x) { return x * x; }
HLO_DEVICE double SquaredSize(WideComplex x) { return x.re * x.re + x.im * x.im; }
HLO_DEVICE double LargestPart(double x) { return std::fabs(x); }
HLO_DEVICE double LargestPart(WideComplex x) { return std::fmax(std::fabs(x.re), std::fabs(x.im)); }
HLO_DEVICE bool IsFinite(double x) { return std::fabs(x) <= std::numeric_limits<double>::max(); }
HLO_DEVICE bool IsFinite(WideComplex x) { return IsFinite(x.re) && IsFinite(x.im); }
// Returns x * 2^exponent.
HLO_DEVICE double TimesPower(double x, int exponent) { return std::ldexp(x, exponent); }
HLO_DEVICE WideComplex TimesPower(WideComplex x, int exponent) {
  return {std::ldexp(x.re, exponent), std::ldexp(x.im, exponent)};
}
// Returns true if a sum of squares has neither overflowed nor lost digits by underflow.
HLO_DEVICE bool IsExactSum(double squares) { return squares > 1e-280 && squares < 1e280; }
// The size by which LAPACK selects pivots.
HLO_DEVICE double PivotSize(double x) { return std::fabs(x); }
HLO_DEVICE double PivotSize(WideComplex x) { return std::fabs(x.re) + std::fabs(x.im); }

// The index of an element in a batch of matrices.
struct ElementIndex {
  int64_t batch, i, j;
};
// Returns the index of element `at` of dense row-major matrices.
HLO_DEVICE ElementIndex ElementAt(int64_t at, int64_t rows, int64_t columns) {
  return {at / (rows * columns), at / columns % rows, at % columns};
}

// A batch of matrices.
template <class T>
struct MatrixView {
  T* data = nullptr;
  int64_t batch_stride = 0, row_stride = 0, column_stride = 1;
  bool conjugate = false;  // Elements are conjugated when read and written.

  HLO_DEVICE T* At(int64_t batch, int64_t i, int64_t j) const {
    return data + batch * batch_stride + i * row_stride + j * column_stride;
  }
  HLO_DEVICE T Read(int64_t batch, int64_t i, int64_t j) const {
    return conjugate ? Conjugated(*At(batch, i, j)) : *At(batch, i, j);
  }
  HLO_DEVICE void Write(int64_t batch, int64_t i, int64_t j, T value) const {
    *At(batch, i, j) = conjugate ? Conjugated(value) : value;
  }
  // The same for a Hermitian matrix, of which the lower triangle is read. The diagonal is real.
  HLO_DEVICE T ReadHermitian(int64_t batch, int64_t i, int64_t j) const {
    const T x = i >= j ? Read(batch, i, j) : Conjugated(Read(batch, j, i));
    return i == j ? T{RealPart(x)} : x;
  }
  // Returns the submatrix that starts at (i, j).
  MatrixView From(int64_t i, int64_t j) const {
    MatrixView view = *this;
    view.data = At(0, i, j);
    return view;
  }
  HLO_DEVICE MatrixView Transposed() const {
    return {data, batch_stride, column_stride, row_stride, conjugate};
  }
  HLO_DEVICE MatrixView Adjoint() const {
    MatrixView view = Transposed();
    view.conjugate = !conjugate;
    return view;
  }

  // Exchanges the elements of rows i and k in column j.
  HLO_DEVICE void Exchange(int64_t batch, int64_t i, int64_t k, int64_t j) const {
    T *x = At(batch, i, j), *y = At(batch, k, j);
    const T kept = *x;
    *x = *y;
    *y = kept;
  }
};

}  // namespace hlo::cuda
