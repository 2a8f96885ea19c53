#pragma once
// Products of matrices of double and std::complex<double>: where the factorisations of this folder spend
// their time. Of each matrix one stride is 1, the other positive.

#include "linalg/matrix.h"

namespace hlo::factor {

using linalg::Complex;
using linalg::Matrix;

template <class T>
struct Factor {
  Matrix<const T> matrix;
  bool conjugate = false;
};
template <class T>
Factor<T> Plain(const Matrix<const T>& m) {
  return {m};
}
template <class T>
Factor<T> Plain(const Matrix<T>& m) {
  return {m.AsConst()};
}
template <class T>
Factor<T> Adjoint(const Matrix<T>& m) {
  return {m.Transposed().AsConst(), true};
}

// c = a b, on several threads where that is worth while; c overlaps neither.
template <class T>
void Product(const Factor<T>& a, const Factor<T>& b, const Matrix<T>& c);

// Which elements change.
enum class Part { kAll, kLower, kUpper };  // The diagonal belongs to both triangles.
// c -= a b
template <class T>
void SubtractProduct(const Factor<T>& a, const Factor<T>& b, const Matrix<T>& c, Part part = Part::kAll);

}  // namespace hlo::factor
