#pragma once
// This file declares the matrix products that dominate the factorisations of this folder, for double and
// std::complex<double>. Each matrix has one stride of 1 and another positive one.

#include <cstddef>
#include <type_traits>

#include "hlo_run/element_type.h"
#include "types/matrix.h"

namespace hlo::lapack {

using Complex = std::complex<double>;

template <class T>
inline constexpr ElementType kElementType =
    std::is_same_v<T, Complex> ? ElementType::kC128 : ElementType::kF64;

// A read-only matrix of a type that converts exactly to T.
template <class T>
struct Source {
  const void* data = nullptr;
  ElementType type = ElementType::kF64;
  int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;
  bool conjugate = false;

  Source Transposed() const { return {data, type, columns, rows, column_stride, row_stride, conjugate}; }
  Source Conjugate() const { return {data, type, rows, columns, row_stride, column_stride, !conjugate}; }
  Source Block(int64_t i, int64_t j, int64_t block_rows, int64_t block_columns) const {
    const int64_t offset = (i * row_stride + j * column_stride) * ByteCount(type);
    return {static_cast<const std::byte*>(data) + offset,
            type,
            block_rows,
            block_columns,
            row_stride,
            column_stride,
            conjugate};
  }
};
template <class T>
Source<std::remove_const_t<T>> Plain(const Matrix<T>& m) {
  return {m.data, kElementType<std::remove_const_t<T>>, m.rows, m.columns, m.row_stride, m.column_stride};
}
template <class T>
Source<std::remove_const_t<T>> Adjoint(const Matrix<T>& m) {
  return Plain(m).Transposed().Conjugate();
}

// Computes c = a b, with several threads if worthwhile. c does not overlap a or b.
template <class T>
void Product(const Source<T>& a, const Source<T>& b, const Matrix<T>& c);

// The elements of c that are updated.
enum class Part { kAll, kLower, kUpper };  // Both triangles include the diagonal.
// Computes c -= a b.
template <class T>
void SubtractProduct(const Source<T>& a, const Source<T>& b, const Matrix<T>& c, Part part = Part::kAll);

}  // namespace hlo::lapack
