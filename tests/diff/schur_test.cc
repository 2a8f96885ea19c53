// Tests Schur forms and eigenvectors of nonsymmetric matrices against their definition.

#include "reference/lapack/spectral.h"
#include "spectral_matrices.h"

namespace hlo::reference::lapack::schur_test {
namespace {

using test::Array;
using test::Bound;
using test::ExpectOrthonormal;
using test::RandomMatrix;
using test::SizeOf;

// Returns the largest element of |a b - c d|.
template <class A, class B, class C, class D>
double Difference(const Matrix<A>& a, const Matrix<B>& b, const Matrix<C>& c, const Matrix<D>& d) {
  double worst = 0;
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < b.columns; ++j) {
      Complex sum = 0;
      for (int64_t k = 0; k < a.columns; ++k) sum += a(i, k) * b(k, j) - c(i, k) * d(k, j);
      if (!(std::abs(sum) <= worst)) worst = std::abs(sum);
    }
  }
  return worst;
}

Array<Complex> Diagonal(const std::vector<Complex>& values) {
  const auto n = static_cast<int64_t>(values.size());
  Array<Complex> d(n, n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) d.view(i, j) = i == j ? values[i] : 0;
  }
  return d;
}

template <class T>
class Schur : public ::testing::Test {};
TYPED_TEST_SUITE(Schur, test::SpectralTypes);

TYPED_TEST(Schur, FormsOfAllSizes) {
  using T = TypeParam;
  for (const int64_t n : {1, 2, 3, 9, 40, 64, 65, 128, 200}) {
    SCOPED_TRACE(n);
    const Array<T> a = RandomMatrix<T>(n, n, n);
    Array<T> t = a, z(n, n);
    std::vector<Complex> w(n);
    ASSERT_EQ(Gees(t.view, z.view, absl::MakeSpan(w)), 0);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j + 1 < i; ++j) EXPECT_EQ(t.view(i, j), T(0));
    }
    EXPECT_LE(Difference(a.view, z.view, z.view, t.view), Bound(n, SizeOf(a.view)));
    ExpectOrthonormal(z.view);
  }
}

template <class T>
void CheckEigenvectors(const Array<T>& a) {
  const int64_t n = a.view.rows;
  Array<Complex> left(n, n), right(n, n, 3, 2);
  std::vector<Complex> w(n);
  ASSERT_EQ(Geev<T>(a.view.AsConst(), absl::MakeSpan(w), left.view, right.view), 0);
  for (const Array<Complex>* vectors : {&left, &right}) {
    for (int64_t j = 0; j < n; ++j) {
      double squares = 0;
      for (int64_t i = 0; i < n; ++i) squares += std::norm(vectors->view(i, j));
      EXPECT_NEAR(squares, 1, Bound(n, 1));
    }
  }
  const Array<Complex> values = Diagonal(w);
  Array<Complex> adjoint(n, n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) adjoint.view(i, j) = std::conj(left.view(j, i));
  }
  // Bounds the condition of the eigenvectors of these matrices.
  const double bound = 100 * Bound(n, SizeOf(a.view));
  EXPECT_LE(Difference(a.view, right.view, right.view, values.view), bound);
  EXPECT_LE(Difference(adjoint.view, a.view, values.view, adjoint.view), bound);
}

TYPED_TEST(Schur, EigenvectorsOfBothSides) {
  for (const int64_t n : {1, 2, 3, 9, 40, 64, 65, 128, 200}) {
    SCOPED_TRACE(n);
    CheckEigenvectors(RandomMatrix<TypeParam>(n, n, n));
  }
}

TYPED_TEST(Schur, EigenvectorsOfSingularMatrices) {
  using T = TypeParam;
  for (const int64_t n : {5, 20, 65}) {
    SCOPED_TRACE(n);
    const Array<T> columns = RandomMatrix<T>(n, 2, 1), rows = RandomMatrix<T>(2, n, 2);
    Array<T> a(n, n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j)
        a.view(i, j) = columns.view(i, 0) * rows.view(0, j) + columns.view(i, 1) * rows.view(1, j);
    }
    CheckEigenvectors(a);
  }
}

// The thresholds of single precision are absolute, too.
TYPED_TEST(Schur, FormsInSinglePrecisionOfAllMagnitudes) {
  using T = TypeParam;
  for (const double scale : {1e-38, 1e-30, 1e-20, 1.0, 1e20, 1e30}) {
    SCOPED_TRACE(scale);
    const int64_t n = 30;
    Array<T> a = RandomMatrix<T>(n, n, n);
    for (T& x : a.data) x *= scale;
    Array<T> t = a, z(n, n);
    std::vector<Complex> w(n);
    ASSERT_EQ(Gees(t.view, z.view, absl::MakeSpan(w), /*single=*/true), 0);
    constexpr double kSingle = std::numeric_limits<float>::epsilon() / std::numeric_limits<double>::epsilon();
    EXPECT_LE(Difference(a.view, z.view, z.view, t.view), kSingle * Bound(n, SizeOf(a.view)));
    ExpectOrthonormal(z.view);
  }
}

TYPED_TEST(Schur, FormsAndEigenvectorsOfAllMagnitudes) {
  using T = TypeParam;
  for (const double scale : {1e-300, 1e-250, 1e-170, 1e-100, 1e100, 1e200, 1e300}) {
    SCOPED_TRACE(scale);
    const int64_t n = 9;
    Array<T> a = RandomMatrix<T>(n, n, n);
    for (T& x : a.data) x *= scale;
    CheckEigenvectors(a);
    Array<T> t = a, z(n, n);
    std::vector<Complex> w(n);
    ASSERT_EQ(Gees(t.view, z.view, absl::MakeSpan(w)), 0);
    EXPECT_LE(Difference(a.view, z.view, z.view, t.view), Bound(n, SizeOf(a.view)));
    ExpectOrthonormal(z.view);
  }
}

}  // namespace
}  // namespace hlo::reference::lapack::schur_test
