// Tests singular values and vectors against their definition and against the reference, within a-priori
// bounds.

#include "kernels/lapack/spectra.h"
#include "reference/lapack/spectral.h"
#include "spectral_matrices.h"

namespace hlo::test::singular_values_test {
namespace {

// Computes all columns of u and v if `full`; the strides are as in Array.
template <class T>
void CheckSvd(const Array<T>& a, bool full, const std::string& name, int64_t gap = 0, int64_t step = 1,
              bool transposed = false) {
  const int64_t m = a.view.rows, n = a.view.columns, k = std::min(m, n);
  SCOPED_TRACE(name + " " + std::to_string(m) + " x " + std::to_string(n) + (full ? " full" : " thin"));
  Array<T> u(m, full ? m : k, gap, step, transposed), v(n, full ? n : k, gap, step, transposed), none(0, 0);
  none.view.data = nullptr;
  std::vector<double> s(k, -1), alone(k, -1), reference(k);
  ASSERT_EQ(lapack::Gesdd(a.view.AsConst(), absl::MakeSpan(s), u.view, v.view), 0);
  EXPECT_TRUE(std::is_sorted(s.rbegin(), s.rend()));
  for (const double x : s) EXPECT_GE(x, 0);
  const double size = SizeOf(a.view);
  ExpectPairs<T>(a.view.AsConst(), u.view, s, v.view, size);
  ExpectOrthonormal(u.view);
  ExpectOrthonormal(v.view);
  if (m * n <= 10'000) {
    ASSERT_EQ(reference::lapack::Gesdd(a.view.AsConst(), absl::MakeSpan(reference), none.view, none.view), 0);
    ExpectNear(s, reference, Bound(m + n, size));
  }
  ASSERT_EQ(lapack::Gesdd(a.view.AsConst(), absl::MakeSpan(alone), none.view, none.view), 0);
  EXPECT_TRUE(std::is_sorted(alone.rbegin(), alone.rend()));
  ExpectNear(alone, s, Bound(m + n, size));
}

template <class T>
void CheckSvd(const Array<T>& a, const std::string& name) {
  CheckSvd(a, false, name);
  CheckSvd(a, true, name);
}

template <class T>
class SingularValues : public ::testing::Test {};
TYPED_TEST_SUITE(SingularValues, SpectralTypes);

TYPED_TEST(SingularValues, SingularVectorsOfAllSizes) {
  for (const int64_t n : {0, 1, 2, 3, 5, 8, 17, 31, 32, 33, 64, 65, 66, 131})
    CheckSvd(RandomMatrix<TypeParam>(n, n, n + 1), "square");
  CheckSvd(RandomMatrix<TypeParam>(300, 300, 1), false, "square");
}

TYPED_TEST(SingularValues, SingularVectorsOfTallAndWideMatrices) {
  const int64_t sizes[][2] = {{1, 5},   {5, 4},    {7, 3},    {40, 33}, {60, 40},
                              {59, 40}, {100, 33}, {150, 60}, {90, 2}};
  for (const auto& [m, n] : sizes) {
    CheckSvd(RandomMatrix<TypeParam>(m, n, n + 1), "random");
    CheckSvd(RandomMatrix<TypeParam>(n, m, n + 1), "random");
  }
  // No columns, or no rows.
  CheckSvd(Array<TypeParam>(4, 0), true, "empty");
  CheckSvd(Array<TypeParam>(0, 4), true, "empty");
}

TYPED_TEST(SingularValues, SingularVectorsOfStridedViews) {
  const int64_t sizes[][2] = {{5, 3}, {33, 40}, {100, 40}};
  for (const auto& [m, n] : sizes) {
    const Array<TypeParam> dense = RandomMatrix<TypeParam>(m, n, 6);
    Array<TypeParam> a(m, n, 3, 2, true);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) a.view(i, j) = dense.view(i, j);
    }
    CheckSvd(a, true, "row gap", 3);
    CheckSvd(a, false, "columns", 1, 1, true);
    CheckSvd(a, true, "two strides", 5, 2);
  }
}

TYPED_TEST(SingularValues, OneSideOfSingularVectors) {
  for (const int64_t n : {9, 50}) {
    const Array<TypeParam> a = RandomMatrix<TypeParam>(n + 3, n, 2);
    Array<TypeParam> u(n + 3, n), v(n, n), left(n + 3, n), right(n, n);
    std::vector<double> s(n);
    const Matrix<TypeParam> none;
    EXPECT_EQ(lapack::Gesdd(a.view.AsConst(), absl::MakeSpan(s), u.view, v.view), 0);
    EXPECT_EQ(lapack::Gesdd(a.view.AsConst(), absl::MakeSpan(s), left.view, none), 0);
    EXPECT_EQ(lapack::Gesdd(a.view.AsConst(), absl::MakeSpan(s), none, right.view), 0);
    EXPECT_EQ(u.data, left.data);
    EXPECT_EQ(v.data, right.data);
  }
}

TYPED_TEST(SingularValues, SingularVectorsOfSpecialMatrices) {
  using T = TypeParam;
  const int64_t sizes[][2] = {{2, 2}, {9, 9}, {70, 70}, {130, 130}, {80, 70}, {130, 70}};
  for (const auto& [m, n] : sizes) {
    Array<T> zero(m, n), identity(m, n), ones(m, n), bidiagonal(m, n), kahan(m, n);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        zero.view(i, j) = T(0);
        identity.view(i, j) = T(i == j ? 1 : 0);
        ones.view(i, j) = T(1);
        bidiagonal.view(i, j) = T(j - i == 1 || (i == j && i % 7 != 3) ? 1 : 0);
        kahan.view(i, j) = std::pow(0.9, static_cast<double>(i)) * (i == j ? 1 : i < j ? -0.4 : 0);
      }
    }
    CheckSvd(zero, "zero");
    CheckSvd(identity, "identity");
    CheckSvd(ones, "rank 1");
    CheckSvd(bidiagonal, "zeros on the diagonal");
    CheckSvd(kahan, "Kahan's");
    CheckSvd(WithValues<T>(m, n, Clustered(n), false), "clusters");
    CheckSvd(WithValues<T>(m, n, Graded(n, 0.6), false), "graded");
    CheckSvd(WithValues<T>(m, n, Graded(n / 2, 0.9), false), "half the rank");
    CheckSvd(WithValues<T>(m, n, std::vector<double>(n, 2), false), "orthogonal");
  }
}

// The factorisation of a constant matrix leaves rows of ever smaller rounding errors, so that blocks of the
// bidiagonal matrix have only elements whose squares underflow.
TYPED_TEST(SingularValues, SingularVectorsOfLargeConstantMatrices) {
  using T = TypeParam;
  const int64_t sizes[][2] = {{200, 128}, {210, 140}};
  for (const auto& [m, n] : sizes) {
    for (const double value : {1.0, 0.1}) {
      Array<T> constant(m, n);
      std::fill(constant.data.begin(), constant.data.end(), T(value));
      CheckSvd(constant, false, "constant");
    }
  }
}

TYPED_TEST(SingularValues, SingularVectorsOfTinyBlocks) {
  using T = TypeParam;
  for (const double tiny : {1e-120, 1e-145, 1e-164, 1e-200, 1e-300, 1e-320}) {
    Array<T> a = RandomMatrix<T>(90, 80, 5);
    for (int64_t i = 0; i < 90; ++i) {
      for (int64_t j = 0; j < 80; ++j) a.view(i, j) *= i == 0 && j == 0 ? 1 : tiny;
    }
    CheckSvd(a, true, "block of 1e" + std::to_string(std::log10(tiny)));
  }
}

TYPED_TEST(SingularValues, SingularVectorsOfAllMagnitudes) {
  using T = TypeParam;
  for (const int64_t n : {7, 40, 90}) {
    for (const double scale : {1e-305, 1e-150, 1e150, 1e300}) {
      Array<T> a = RandomMatrix<T>(n + 3, n, 8);
      for (T& x : a.data) x *= scale;
      CheckSvd(a, true, "scale " + std::to_string(std::log10(scale)));
    }
    for (const int kind : {0, 1, 2, 3}) {
      Array<T> a = RandomMatrix<T>(n + 3, n, 9);
      for (int64_t i = 0; i < n + 3; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const auto power = static_cast<double>((kind % 2 == 0 ? i : j) - n / 2);
          a.view(i, j) *= std::pow(10, (kind < 2 ? 300 : -300) * power / static_cast<double>(n + 3));
        }
      }
      CheckSvd(a, true, "graded by 1e300");
    }
  }
}

TYPED_TEST(SingularValues, NonFiniteMatricesHaveNoSingularValues) {
  for (const double bad : {std::nan(""), test::kInfinity, -test::kInfinity}) {
    for (const auto& [m, n] : {std::pair{1, 1}, {8, 8}, {50, 20}, {20, 50}}) {
      Array<TypeParam> a = RandomMatrix<TypeParam>(m, n, 3), u(m, m), v(n, n);
      a.view(m - 1, n / 2) = bad;
      std::vector<double> s(std::min(m, n));
      EXPECT_NE(lapack::Gesdd(a.view.AsConst(), absl::MakeSpan(s), u.view, v.view), 0);
      for (const double x : s) EXPECT_TRUE(std::isnan(x));
      for (const TypeParam& x : u.data) EXPECT_TRUE(std::isnan(std::real(x)));
      for (const TypeParam& x : v.data) EXPECT_TRUE(std::isnan(std::real(x)));
    }
  }
}

TYPED_TEST(SingularValues, SingularVectorsDoNotDependOnThreads) {
  for (const auto& [m, n] : {std::pair{20, 20}, {300, 300}, {500, 120}}) {
    ExpectSameBits([m = m, n = n] {
      const Array<TypeParam> a = RandomMatrix<TypeParam>(m, n, 12);
      Array<TypeParam> u(m, n), v(n, n);
      std::vector<double> s(n);
      EXPECT_EQ(lapack::Gesdd(a.view.AsConst(), absl::MakeSpan(s), u.view, v.view), 0);
      u.data.insert(u.data.end(), v.data.begin(), v.data.end());
      u.data.insert(u.data.end(), s.begin(), s.end());
      return u.data;
    });
  }
}

struct SignsOfVectors {
  std::string left, right;
};

// The signs are those of SciPy's LAPACK: sgesdd, dgesdd, cgesdd and zgesdd.
template <class T>
void ExpectSigns(int64_t m, int64_t n, const SignsOfVectors& in_single, const SignsOfVectors& in_double) {
  SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
  const Array<T> a = IntegerMatrix<T>(m, n);
  const int64_t k = std::min(m, n);
  Array<T> u(m, k), v(n, k);
  std::vector<double> s(k);
  for (const RealPrecision precision : {RealPrecision::kSingle, RealPrecision::kDouble}) {
    const SignsOfVectors& expected = precision == RealPrecision::kSingle ? in_single : in_double;
    ASSERT_EQ(lapack::Gesdd(a.view.AsConst(), absl::MakeSpan(s), u.view, v.view, precision), 0);
    EXPECT_EQ(SignsOf(u.view), expected.left);
    EXPECT_EQ(SignsOf(v.view), expected.right);
    ASSERT_EQ(reference::lapack::Gesdd(a.view.AsConst(), absl::MakeSpan(s), u.view, v.view, precision), 0);
    EXPECT_EQ(SignsOf(u.view), expected.left);
    EXPECT_EQ(SignsOf(v.view), expected.right);
  }
}

TEST(Signs, OfSingularVectorsAreThoseOfLapack) {
  ExpectSigns<double>(3, 3, {"-++", "--+"}, {"-++", "--+"});
  ExpectSigns<Complex>(3, 3, {"-+-", "+--"}, {"-+-", "+--"});
  ExpectSigns<double>(5, 4, {"-+--", "+-+-"}, {"-+--", "+-+-"});
  ExpectSigns<Complex>(5, 4, {"-+-+", "+-++"}, {"-+-+", "+-++"});
  ExpectSigns<double>(8, 4, {"++++", "--+-"}, {"+++-", "--++"});
  ExpectSigns<Complex>(8, 4, {"+---", "+--+"}, {"++-+", "++--"});
  ExpectSigns<double>(4, 5, {"++-+", "-+++"}, {"++-+", "-+++"});
  ExpectSigns<Complex>(4, 5, {"++-+", "++-+"}, {"++-+", "++-+"});
  ExpectSigns<double>(4, 9, {"++++", "+-+-"}, {"++++", "+-+-"});
  ExpectSigns<Complex>(4, 9, {"-+++", "++--"}, {"-+++", "++--"});
  ExpectSigns<double>(1, 1, {"-", "+"}, {"-", "+"});
  ExpectSigns<Complex>(1, 1, {"-", "+"}, {"-", "+"});
  ExpectSigns<double>(3, 1, {"-", "+"}, {"-", "+"});
  ExpectSigns<Complex>(3, 1, {"-", "+"}, {"-", "+"});
  ExpectSigns<double>(1, 4, {"+", "-"}, {"+", "-"});
  ExpectSigns<Complex>(1, 4, {"+", "-"}, {"+", "-"});
  ExpectSigns<double>(9, 6, {"+-----", "----+-"}, {"+-----", "----+-"});
  ExpectSigns<Complex>(9, 6, {"--+-+-", "++--+-"}, {"--+-+-", "++--+-"});
  ExpectSigns<double>(12, 6, {"+--+-+", "-+-+++"}, {"+----+", "-+--++"});
  ExpectSigns<Complex>(12, 6, {"---+--", "------"}, {"---++-", "----+-"});
  ExpectSigns<double>(6, 9, {"++--+-", "++-+--"}, {"++--+-", "++-+--"});
  ExpectSigns<Complex>(6, 9, {"++-++-", "-+----"}, {"++-++-", "-+----"});
  ExpectSigns<double>(6, 12, {"+++--+", "+++-+-"}, {"+++--+", "+++-+-"});
  ExpectSigns<Complex>(6, 12, {"-++---", "-+++++"}, {"-++---", "-+++++"});
}

}  // namespace
}  // namespace hlo::test::singular_values_test
