#pragma once
// This file copies strided matrices to aligned lines and computes scales that keep squares in range.

#include <cmath>
#include <limits>

#include "kernels/lapack/lanes.h"
#include "kernels/lapack/scratch.h"

namespace hlo::lapack {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Calls f(i, j) for all elements in square tiles, because one side of a copy may be transposed.
template <class F>
void ForEachElementInTiles(int64_t rows, int64_t columns, F&& f) {
  constexpr int64_t kSide = 16;
  for (int64_t i0 = 0; i0 < rows; i0 += kSide) {
    const int64_t i1 = std::min(rows, i0 + kSide);
    for (int64_t j0 = 0; j0 < columns; j0 += kSide) {
      const int64_t j1 = std::min(columns, j0 + kSide);
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j) f(i, j);
      }
    }
  }
}

template <class T>
void Fill(const Matrix<T>& m, T value) {
  if (m.data == nullptr) return;
  ForEachElementInTiles(m.rows, m.columns, [&](int64_t i, int64_t j) { m(i, j) = value; });
}
template <class T>
void FillIdentity(const Matrix<T>& m) {
  Fill(m, T(0));
  for (int64_t i = 0; m.data != nullptr && i < std::min(m.rows, m.columns); ++i) m(i, i) = T(1);
}

// Calls change(m) if m has a unit stride; otherwise calls it with a dense copy and copies the elements back.
// The previous contents of m are not preserved.
template <class T, class Change>
void InUnitStride(const Matrix<T>& m, Change&& change) {
  if (m.column_stride == 1 || m.row_stride == 1) return change(m);
  const Scratch<T> memory(m.rows * m.columns);
  const Matrix<T> copy = Matrix<T>::Dense(memory.data(), m.rows, m.columns);
  change(copy);
  ForEachElementInTiles(m.rows, m.columns, [&](int64_t i, int64_t j) { m(i, j) = copy(i, j); });
}

// Computes the largest absolute component of elements [begin, end) of all lines, or NaN if one is not finite.
class LargestComponent {
 public:
  template <class T>
  void Add(const T* line, int64_t begin, int64_t end) {
    EachVector<T>(begin, end, [&](int64_t i, auto part) {
      const Lanes v = part.Load(line + i), size = v < 0 ? -v : v;
      largest_ = size > largest_ ? size : largest_;
      nothing_ += v * 0.0;
    });
  }
  double value() const {
    double largest = 0;
    for (int i = 0; i < cpu::kLanes<double>; ++i) largest = std::max(largest, largest_[i]);
    return largest + cpu::SumOfLanes<double>(nothing_);
  }

 private:
  Lanes largest_{}, nothing_{};
};

// Returns the power of two that scales a matrix with this largest component.
inline double ScaleFor(double largest) {
  const int exponent = largest == 0 ? 0 : std::ilogb(largest);
  return std::abs(exponent) < 100 ? 1 : std::ldexp(1, std::clamp(-exponent, -1000, 1000));
}

}  // namespace hlo::lapack
