#pragma once
// This file maps matrices of this folder to Eigen.

#include <Eigen/Core>

#include "linalg/matrix.h"

namespace hlo::linalg {

template <class T>
using EigenMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
using EigenStride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;

template <class T>
auto Map(const Matrix<T>& m) {
  using Plain = std::remove_const_t<T>;
  using Target = std::conditional_t<std::is_const_v<T>, const EigenMatrix<Plain>, EigenMatrix<Plain>>;
  return Eigen::Map<Target, Eigen::Unaligned, EigenStride>(m.data, m.rows, m.columns,
                                                           EigenStride(m.column_stride, m.row_stride));
}

}  // namespace hlo::linalg
