// Eigenvalues and singular values: what they are defined by, and against linalg's, within a-priori bounds.

#include "linalg/spectral.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/parallel.h"
#include "gtest/gtest.h"
#include "kernels/factor/spectra.h"

namespace hlo::factor {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A matrix with memory of its own; elements between its lines belong to none.
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
  Array(Array&&) = default;  // Memory stays where it is.
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

template <class T>
Array<T> Hermitian(int64_t n, uint32_t seed) {
  Array<T> a = RandomMatrix<T>(n, n, seed);
  for (int64_t i = 0; i < n; ++i) {
    a.view(i, i) = std::real(a.view(i, i));
    for (int64_t j = 0; j < i; ++j) a.view(j, i) = linalg::Conj(a.view(i, j));
  }
  return a;
}

template <class T>
void Orthonormalise(const Matrix<T>& q) {
  for (int64_t j = 0; j < q.columns; ++j) {
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t k = 0; k < j; ++k) {
        T dot(0);
        for (int64_t i = 0; i < q.rows; ++i) dot += linalg::Conj(q(i, k)) * q(i, j);
        for (int64_t i = 0; i < q.rows; ++i) q(i, j) -= dot * q(i, k);
      }
    }
    double squares = 0;
    for (int64_t i = 0; i < q.rows; ++i) squares += std::norm(q(i, j));
    for (int64_t i = 0; i < q.rows; ++i) q(i, j) /= std::sqrt(squares);
  }
}

// u diag(values) v^H with random u and v; v = u where `hermitian`.
template <class T>
Array<T> WithValues(int64_t rows, int64_t columns, const std::vector<double>& values, bool hermitian) {
  Array<T> u = RandomMatrix<T>(rows, rows, 5), v = RandomMatrix<T>(columns, columns, 6), a(rows, columns);
  Orthonormalise(u.view);
  Orthonormalise(v.view);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      T sum(0);
      for (size_t k = 0; k < values.size(); ++k)
        sum += u.view(i, k) * values[k] * linalg::Conj((hermitian ? u : v).view(j, k));
      a.view(i, j) = sum;
    }
  }
  for (int64_t i = 0; hermitian && i < rows; ++i) {
    for (int64_t j = 0; j <= i; ++j)
      a.view(j, i) = linalg::Conj(a.view(i, j) = j == i ? std::real(a.view(i, i)) : a.view(i, j));
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

// Errors of n operations on numbers of this size.
double Bound(int64_t n, double size) { return 20 * kEpsilon * static_cast<double>(n + 3) * size; }

template <class T>
void ExpectOrthonormal(const Matrix<T>& q) {
  double worst = 0;
  for (int64_t j = 0; j < q.columns; ++j) {
    for (int64_t k = 0; k <= j; ++k) {
      T dot(j == k ? -1 : 0);
      for (int64_t i = 0; i < q.rows; ++i) dot += linalg::Conj(q(i, k)) * q(i, j);
      if (!(std::abs(dot) <= worst)) worst = std::abs(dot);
    }
  }
  EXPECT_LE(worst, Bound(q.rows, 1));
}

// |a right - left diag(values)| <= bound
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

void ExpectNear(const std::vector<double>& values, const std::vector<double>& expected, double bound) {
  for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], bound) << "value " << i;
}

// The norm is at most sqrt(n) times the largest element's share; what results are measured by.
template <class T>
double SizeOf(const Matrix<T>& a) {
  const double largest = LargestOf(a);
  return largest == 0 ? 1 : largest * std::sqrt(static_cast<double>(std::max(a.rows, a.columns)));
}

// `to` has the strides that results are wanted in.
template <class T>
void CheckEigen(const Array<T>& a, bool lower, Array<T> to, const std::string& name) {
  SCOPED_TRACE(name + (lower ? " lower" : " upper"));
  const int64_t n = a.view.rows;
  for (int64_t i = 0; i < n; ++i) {
    // The other triangle is not read.
    for (int64_t j = 0; j < n; ++j)
      to.view(i, j) = (lower ? i >= j : i <= j) ? a.view(i, j) : T(std::nan(""));
  }
  Array<T> same = to, expected = a;
  std::vector<double> w(n, -1), alone(n, -1), reference(n);
  ASSERT_EQ(factor::Syevd(to.view, lower, absl::MakeSpan(w)), 0);
  EXPECT_TRUE(std::is_sorted(w.begin(), w.end()));
  const double size = SizeOf(a.view);
  ExpectPairs<T>(a.view.AsConst(), to.view, w, to.view, size);
  ExpectOrthonormal(to.view);
  ASSERT_EQ(linalg::Syevd(expected.view, lower, absl::MakeSpan(reference)), 0);
  ExpectNear(w, reference, Bound(n, size));
  ASSERT_EQ(factor::Syevd(same.view, lower, absl::MakeSpan(alone), false), 0);
  EXPECT_TRUE(std::is_sorted(alone.begin(), alone.end()));
  ExpectNear(alone, reference, Bound(n, size));
}

template <class T>
void CheckEigen(const Array<T>& a, const std::string& name) {
  const int64_t n = a.view.rows;
  CheckEigen(a, true, Array<T>(n, n), name);
  CheckEigen(a, false, Array<T>(n, n), name);
}

std::vector<double> Graded(int64_t n, double ratio) {
  std::vector<double> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = std::pow(ratio, static_cast<double>(i));
  return values;
}

// Values with gaps of all sizes, most of them none.
std::vector<double> Clustered(int64_t n) {
  std::vector<double> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = static_cast<double>(i % 3) + (i % 5 == 0 ? 1e-13 * i : 0);
  return values;
}

template <class T>
class Spectral : public ::testing::Test {};
using Types = ::testing::Types<double, Complex>;
TYPED_TEST_SUITE(Spectral, Types);

TYPED_TEST(Spectral, EigenvectorsOfAllSizes) {
  for (const int64_t n : {0, 1, 2, 3, 5, 8, 17, 24, 25, 31, 32, 33, 64, 65, 150, 300})
    CheckEigen(Hermitian<TypeParam>(n, n + 1), "n = " + std::to_string(n));
}

TYPED_TEST(Spectral, EigenvectorsOfStridedViews) {
  for (const int64_t n : {3, 33, 70}) {
    const Array<TypeParam> a = Hermitian<TypeParam>(n, 4);
    for (const bool lower : {false, true}) {
      CheckEigen(a, lower, Array<TypeParam>(n, n, 3), "row gap");
      CheckEigen(a, lower, Array<TypeParam>(n, n, 1, 1, true), "columns");
      CheckEigen(a, lower, Array<TypeParam>(n, n, 5, 2), "two strides");
    }
  }
}

TYPED_TEST(Spectral, EigenvectorsOfSpecialMatrices) {
  using T = TypeParam;
  for (const int64_t n : {2, 9, 70, 130}) {
    Array<T> zero(n, n), identity(n, n), ones(n, n), tridiagonal(n, n), wilkinson(n, n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        zero.view(i, j) = T(0);
        identity.view(i, j) = T(i == j ? 1 : 0);
        ones.view(i, j) = T(1);
        const bool beside = i - j == 1 || j - i == 1;
        tridiagonal.view(i, j) = T(i == j ? 2 : beside ? -1 : 0);
        wilkinson.view(i, j) = T(i == j ? std::abs(static_cast<double>(i - n / 2)) : beside ? 1 : 0);
      }
    }
    CheckEigen(zero, "zero");
    CheckEigen(identity, "identity");
    CheckEigen(ones, "rank 1");
    CheckEigen(tridiagonal, "second differences");
    CheckEigen(wilkinson, "pairs that nearly agree");
    CheckEigen(WithValues<T>(n, n, Clustered(n), true), "clusters");
    CheckEigen(WithValues<T>(n, n, Graded(n, 0.6), true), "graded");
    CheckEigen(WithValues<T>(n, n, Graded(n / 2, 0.9), true), "half the rank");
  }
}

// Elements from 1e-150 to 1e150, and matrices of very small and very large ones.
TYPED_TEST(Spectral, EigenvectorsOfAllMagnitudes) {
  using T = TypeParam;
  for (const int64_t n : {7, 40, 90}) {
    for (const double scale : {1e-305, 1e-150, 1e150, 1e300}) {
      Array<T> a = Hermitian<T>(n, 8);
      for (T& x : a.data) x *= scale;
      CheckEigen(a, "scale " + std::to_string(std::log10(scale)));
    }
    for (const double sign : {-1, 1}) {
      Array<T> a = Hermitian<T>(n, 9);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j)
          a.view(i, j) *=
              std::pow(10, sign * (150.0 * static_cast<double>(i + j + 1 - n) / static_cast<double>(n)));
      }
      CheckEigen(a, "graded by 1e300");
    }
  }
}

TYPED_TEST(Spectral, NoEigenvaluesOfWhatIsNotFinite) {
  for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
    for (const int64_t n : {1, 8, 50}) {
      for (const bool vectors : {false, true}) {
        Array<TypeParam> a = Hermitian<TypeParam>(n, 3);
        a.view(n - 1, n / 2) = bad;
        std::vector<double> w(n);
        EXPECT_NE(factor::Syevd(a.view, true, absl::MakeSpan(w), vectors), 0);
        for (const double x : w) EXPECT_TRUE(std::isnan(x));
        for (int64_t i = 0; vectors && i < n; ++i) EXPECT_TRUE(std::isnan(std::real(a.view(i, n - 1 - i))));
      }
    }
  }
}

// What f leaves in memory with one thread and with two.
template <class F>
void ExpectSameBits(F&& f) {
  SetWorthThreads(0);
  SetThreadCount(1);
  const auto one = f();
  SetThreadCount(2);
  const auto two = f();
  SetThreadCount(0);
  SetWorthThreads(20'000);
  EXPECT_EQ(std::memcmp(one.data(), two.data(), one.size() * sizeof(one[0])), 0);
}

TYPED_TEST(Spectral, EigenvectorsDoNotDependOnThreads) {
  for (const int64_t n : {20, 150, 400}) {
    ExpectSameBits([&] {
      Array<TypeParam> a = Hermitian<TypeParam>(n, 12);
      std::vector<double> w(n);
      EXPECT_EQ(factor::Syevd(a.view, true, absl::MakeSpan(w)), 0);
      a.data.insert(a.data.end(), w.begin(), w.end());
      return a.data;
    });
  }
}

}  // namespace
}  // namespace hlo::factor
