#pragma once
// Matrices with known spectra, and error measures of factorisations.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "gtest/gtest.h"
#include "types/matrix.h"

namespace hlo::test {

using Complex = std::complex<double>;

inline constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A matrix with its own memory and guard elements between its lines.
template <class T>
struct Array {
  std::vector<T> data;
  Matrix<T> view;

  Array(int64_t rows, int64_t columns, int64_t gap = 0, int64_t step = 1, bool transposed = false)
      : data(rows * columns * step + std::max(rows, columns) * gap, T(77)),
        view{data.data(), rows, columns, columns * step + gap, step} {
    if (transposed) view = {data.data(), rows, columns, step, rows * step + gap};
  }
  Array(const Array& other) : data(other.data), view(other.view) { view.data = data.data(); }
  Array(Array&&) = default;  // Moving does not relocate the elements.
};

template <class T>
T RandomOf(std::mt19937& random) {
  std::normal_distribution<double> normal;
  const double real = normal(random);
  if constexpr (std::is_same_v<T, double>)
    return real;
  else
    return {real, normal(random)};
}

template <class T>
Array<T> RandomMatrix(int64_t rows, int64_t columns, uint32_t seed) {
  Array<T> a(rows, columns);
  std::mt19937 random(seed);
  for (T& x : a.data) x = RandomOf<T>(random);
  return a;
}

// A matrix of small integers.
template <class T>
Array<T> IntegerMatrix(int64_t rows, int64_t columns) {
  Array<T> a(rows, columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const auto re = static_cast<double>((5 * i * i + 7 * j * j + 3 * i * j + i) % 19 - 9);
      const auto im = static_cast<double>((3 * i * i + 2 * j * j + 11 * i * j + j) % 17 - 8);
      if constexpr (std::is_same_v<T, double>)
        a.view(i, j) = re;
      else
        a.view(i, j) = {re, im};
    }
  }
  return a;
}

// Returns the sign of the real part of each column in the row where its magnitude is largest.
template <class T>
std::string SignsOf(const Matrix<T>& a) {
  std::string signs;
  for (int64_t j = 0; j < a.columns; ++j) {
    double largest = 0;
    for (int64_t i = 0; i < a.rows; ++i) {
      if (std::abs(std::real(a(i, j))) > std::abs(largest)) largest = std::real(a(i, j));
    }
    signs += largest > 0 ? '+' : '-';
  }
  return signs;
}

template <class T>
Array<T> Hermitian(int64_t n, uint32_t seed) {
  Array<T> a = RandomMatrix<T>(n, n, seed);
  for (int64_t i = 0; i < n; ++i) {
    a.view(i, i) = std::real(a.view(i, i));
    for (int64_t j = 0; j < i; ++j) a.view(j, i) = Conj(a.view(i, j));
  }
  return a;
}

template <class T>
void Orthonormalise(const Matrix<T>& q) {
  for (int64_t j = 0; j < q.columns; ++j) {
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t k = 0; k < j; ++k) {
        T dot(0);
        for (int64_t i = 0; i < q.rows; ++i) dot += Conj(q(i, k)) * q(i, j);
        for (int64_t i = 0; i < q.rows; ++i) q(i, j) -= dot * q(i, k);
      }
    }
    double squares = 0;
    for (int64_t i = 0; i < q.rows; ++i) squares += std::norm(q(i, j));
    for (int64_t i = 0; i < q.rows; ++i) q(i, j) /= std::sqrt(squares);
  }
}

// Returns u diag(values) v^H with random u and v; v = u if `hermitian`.
template <class T>
Array<T> WithValues(int64_t rows, int64_t columns, const std::vector<double>& values, bool hermitian) {
  Array<T> u = RandomMatrix<T>(rows, rows, 5), v = RandomMatrix<T>(columns, columns, 6), a(rows, columns);
  Orthonormalise(u.view);
  Orthonormalise(v.view);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      T sum(0);
      for (size_t k = 0; k < values.size(); ++k)
        sum += u.view(i, k) * values[k] * Conj((hermitian ? u : v).view(j, k));
      a.view(i, j) = sum;
    }
  }
  for (int64_t i = 0; hermitian && i < rows; ++i) {
    for (int64_t j = 0; j <= i; ++j)
      a.view(j, i) = Conj(a.view(i, j) = j == i ? std::real(a.view(i, i)) : a.view(i, j));
  }
  return a;
}

template <class T>
double LargestOf(const Matrix<T>& m) {
  double largest = 0;
  for (int64_t i = 0; i < m.rows; ++i) {
    for (int64_t j = 0; j < m.columns; ++j) largest = std::max(largest, std::abs(m(i, j)));
  }
  return largest;
}

// Returns the error bound of n operations on numbers of this size.
inline double Bound(int64_t n, double size) { return 6 * kEpsilon * static_cast<double>(n + 3) * size; }

template <class T>
void ExpectOrthonormal(const Matrix<T>& q) {
  double worst = 0;
  for (int64_t j = 0; j < q.columns; ++j) {
    for (int64_t k = 0; k <= j; ++k) {
      T dot(j == k ? -1 : 0);
      for (int64_t i = 0; i < q.rows; ++i) dot += Conj(q(i, k)) * q(i, j);
      if (!(std::abs(dot) <= worst)) worst = std::abs(dot);
    }
  }
  EXPECT_LE(worst, Bound(q.rows, 1));
}

// Expects |a right - left diag(values)| <= bound.
template <class T>
void ExpectPairs(const Matrix<const T>& a, const Matrix<T>& left, const std::vector<double>& values,
                 const Matrix<T>& right, double size) {
  double worst = 0;
  for (int64_t i = 0; i < a.rows; ++i) {
    std::vector<T> row(values.size());
    for (size_t k = 0; k < values.size(); ++k) row[k] = -left(i, k) * values[k] / size;
    for (int64_t j = 0; j < a.columns; ++j) {
      for (size_t k = 0; k < values.size(); ++k) row[k] += a(i, j) / size * right(j, k);
    }
    for (const T& x : row) {
      if (!(std::abs(x) <= worst)) worst = std::abs(x);
    }
  }
  EXPECT_LE(worst, Bound(a.rows + a.columns, 1));
}

inline void ExpectNear(const std::vector<double>& values, const std::vector<double>& expected, double bound) {
  for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], bound) << "value " << i;
}

// Returns an upper estimate of the norm, relative to which errors are measured.
template <class T>
double SizeOf(const Matrix<T>& a) {
  const double largest = LargestOf(a);
  return largest == 0 ? 1 : largest * std::sqrt(static_cast<double>(std::max(a.rows, a.columns)));
}

inline std::vector<double> Graded(int64_t n, double ratio) {
  std::vector<double> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = std::pow(ratio, static_cast<double>(i));
  return values;
}

// Returns values with gaps of all sizes, most of them zero.
inline std::vector<double> Clustered(int64_t n) {
  std::vector<double> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = static_cast<double>(i % 3) + (i % 5 == 0 ? 1e-13 * i : 0);
  return values;
}

// Expects that f gives the same bits with one thread and with two.
template <class F>
void ExpectSameBits(F&& f) {
  SetMinParallelNanoseconds(0);
  SetThreadCount(1);
  const auto one = f();
  SetThreadCount(2);
  const auto two = f();
  SetThreadCount(0);
  SetMinParallelNanoseconds(20'000);
  EXPECT_EQ(std::memcmp(one.data(), two.data(), one.size() * sizeof(one[0])), 0);
}

using SpectralTypes = ::testing::Types<double, Complex>;

}  // namespace hlo::test
