// Tests eigenvalues and eigenvectors of Hermitian matrices against their definition and against the
// reference, within a-priori bounds.

#include "reference/lapack/spectral.h"

#include "kernels/lapack/spectra.h"
#include "spectral_matrices.h"

namespace hlo::test::spectral_test {
namespace {

// `to` has the strides of the results.
template <class T>
void CheckEigen(const Array<T>& a, bool lower, Array<T> to, const std::string& name) {
  SCOPED_TRACE(name + (lower ? " lower" : " upper"));
  const int64_t n = a.view.rows;
  for (int64_t i = 0; i < n; ++i) {
    // The other triangle must not be read.
    for (int64_t j = 0; j < n; ++j)
      to.view(i, j) = (lower ? i >= j : i <= j) ? a.view(i, j) : T(std::nan(""));
  }
  Array<T> same = to, expected = a;
  const std::vector<T> before = same.data;
  std::vector<double> w(n, -1), alone(n, -1), reference(n);
  ASSERT_EQ(lapack::Syevd(to.view, lower, absl::MakeSpan(w)), 0);
  EXPECT_TRUE(std::is_sorted(w.begin(), w.end()));
  const double size = SizeOf(a.view);
  ExpectPairs<T>(a.view.AsConst(), to.view, w, to.view, size);
  ExpectOrthonormal(to.view);
  ASSERT_EQ(reference::lapack::Syevd(expected.view, lower, absl::MakeSpan(reference)), 0);
  ExpectPairs<T>(a.view.AsConst(), expected.view, reference, expected.view, size);
  ExpectOrthonormal(expected.view);
  ExpectNear(w, reference, Bound(n, size));
  ASSERT_EQ(lapack::Syevd(same.view, lower, absl::MakeSpan(alone), false), 0);
  EXPECT_TRUE(n == 0 || std::memcmp(same.data.data(), before.data(), before.size() * sizeof(T)) == 0);
  EXPECT_TRUE(std::is_sorted(alone.begin(), alone.end()));
  ExpectNear(alone, reference, Bound(n, size));
}

template <class T>
void CheckEigen(const Array<T>& a, const std::string& name) {
  const int64_t n = a.view.rows;
  CheckEigen(a, true, Array<T>(n, n), name);
  CheckEigen(a, false, Array<T>(n, n), name);
}

template <class T>
class Spectral : public ::testing::Test {};
TYPED_TEST_SUITE(Spectral, SpectralTypes);

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

// Elements from 1e-150 to 1e150, and matrices of very small and very large norm.
TYPED_TEST(Spectral, EigenvectorsOfTinyBlocks) {
  using T = TypeParam;
  for (const double tiny : {1e-120, 1e-145, 1e-164, 1e-200, 1e-300, 1e-320}) {
    Array<T> a = Hermitian<T>(80, 5);
    for (int64_t i = 0; i < 80; ++i) {
      for (int64_t j = 0; j < 80; ++j) a.view(i, j) *= i == 0 && j == 0 ? 1 : tiny;
    }
    CheckEigen(a, "block of 1e" + std::to_string(std::log10(tiny)));
  }
}

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

TYPED_TEST(Spectral, NonFiniteMatricesHaveNoEigenvalues) {
  for (const double bad : {std::nan(""), test::kInfinity, -test::kInfinity}) {
    for (const int64_t n : {1, 8, 50}) {
      for (const bool vectors : {false, true}) {
        Array<TypeParam> a = Hermitian<TypeParam>(n, 3);
        a.view(n - 1, n / 2) = bad;
        std::vector<double> w(n);
        EXPECT_NE(lapack::Syevd(a.view, true, absl::MakeSpan(w), vectors), 0);
        for (const double x : w) EXPECT_TRUE(std::isnan(x));
        for (int64_t i = 0; vectors && i < n; ++i) EXPECT_TRUE(std::isnan(std::real(a.view(i, n - 1 - i))));
      }
    }
  }
}

TYPED_TEST(Spectral, EigenvectorsDoNotDependOnThreads) {
  for (const int64_t n : {20, 150, 400}) {
    ExpectSameBits([&] {
      Array<TypeParam> a = Hermitian<TypeParam>(n, 12);
      std::vector<double> w(n);
      EXPECT_EQ(lapack::Syevd(a.view, true, absl::MakeSpan(w)), 0);
      a.data.insert(a.data.end(), w.begin(), w.end());
      return a.data;
    });
  }
}

// The signs are those of SciPy's LAPACK: ssyevd, dsyevd, cheevd and zheevd.
template <class T>
void ExpectEigenvectorSigns(int64_t n, const std::string& in_single, const std::string& in_double) {
  SCOPED_TRACE(n);
  for (const RealPrecision precision : {RealPrecision::kSingle, RealPrecision::kDouble}) {
    const std::string& expected = precision == RealPrecision::kSingle ? in_single : in_double;
    Array<T> a = IntegerMatrix<T>(n, n);
    for (int64_t i = 0; i < n; ++i) a.view(i, i) = std::real(a.view(i, i));
    Array<T> fast = a, reference = a;
    std::vector<double> w(n);
    ASSERT_EQ(lapack::Syevd(fast.view, true, absl::MakeSpan(w), true, precision), 0);
    EXPECT_EQ(SignsOf(fast.view), expected);
    ASSERT_EQ(reference::lapack::Syevd(reference.view, true, absl::MakeSpan(w), precision), 0);
    EXPECT_EQ(SignsOf(reference.view), expected);
  }
}

TEST(Signs, OfEigenvectorsAreThoseOfLapack) {
  ExpectEigenvectorSigns<double>(2, "--", "--");
  ExpectEigenvectorSigns<Complex>(2, "-+", "-+");
  ExpectEigenvectorSigns<double>(3, "++-", "++-");
  ExpectEigenvectorSigns<Complex>(3, "++-", "++-");
  ExpectEigenvectorSigns<double>(5, "-+---", "-+---");
  ExpectEigenvectorSigns<Complex>(5, "-++-+", "-++-+");
  ExpectEigenvectorSigns<double>(8, "+-++++-+", "+-++++-+");
  // The number of iterations depends on the precision.
  ExpectEigenvectorSigns<Complex>(8, "+--++---", "+---+-+-");
}

struct GeneralEigenvectors {
  std::vector<Complex> values;
  Array<Complex> left, right;

  explicit GeneralEigenvectors(const Array<double>& a)
      : values(a.view.rows), left(a.view.rows, a.view.rows), right(a.view.rows, a.view.rows) {
    EXPECT_EQ(reference::lapack::Geev(a.view.AsConst(), absl::MakeSpan(values), left.view, right.view), 0);
  }
};

// The signs are those of SciPy's dgeev.
TEST(Signs, OfEigenvectorsOfRealMatricesAreThoseOfLapack) {
  const auto expect = [](int64_t n, const std::string& right_signs, const std::string& left_signs) {
    SCOPED_TRACE(n);
    const GeneralEigenvectors result(IntegerMatrix<double>(n, n));
    EXPECT_EQ(SignsOf(result.right.view), right_signs);
    EXPECT_EQ(SignsOf(result.left.view), left_signs);
  };
  expect(2, "--", "--");
  expect(3, "+--", "+--");
  expect(4, "--++", "++++");
  expect(5, "----+", "+++++");
  expect(6, "++--++", "----++");
}

// The values and the signs are those of SciPy's dgeev. Without balancing, the signs are others.
TEST(Signs, BadlyScaledMatricesAreBalanced) {
  const double scales[] = {1, 64, 0x1p-5, 8, 0x1p-9, 4, 1024, 0.25};
  Array<double> a = IntegerMatrix<double>(8, 8);
  for (int64_t i = 0; i < 8; ++i) {
    for (int64_t j = 0; j < 8; ++j) a.view(i, j) *= scales[j] / scales[i];
  }
  const GeneralEigenvectors result(a);
  const double expected[] = {-18.3886, -18.3886, -12.1703, 7.2898, 7.2898, 11.2233, 4.0723, 4.0723};
  for (int64_t i = 0; i < 8; ++i) EXPECT_NEAR(result.values[i].real(), expected[i], 1e-4);
  EXPECT_EQ(SignsOf(result.right.view), "--+++---");
  EXPECT_EQ(SignsOf(result.left.view), "---+++++");
}

}  // namespace
}  // namespace hlo::test::spectral_test
