// Tests blocked QR factorisations against unblocked ones and against their definition: q r = a, q^H q = 1.
// The bounds are those of LAPACK's tests: a small multiple of n epsilon, in norms.

#include "kernels/lapack/qr.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "gtest/gtest.h"
#include "reference/lapack/householder.h"

namespace hlo::lapack::qr_test {
namespace {

using Complex = std::complex<double>;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// A matrix surrounded by guard elements.
template <class T>
struct Array {
  int64_t rows, columns, gap;
  std::vector<T> data;

  Array(int64_t rows, int64_t columns, int64_t gap = 0)
      : rows(rows), columns(columns), gap(gap), data(rows * (columns + gap), T(-7)) {}
  Matrix<T> view() { return {data.data(), rows, columns, std::max<int64_t>(columns + gap, 1), 1}; }
  Matrix<const T> view() const { return const_cast<Array*>(this)->view().AsConst(); }
  T& operator()(int64_t i, int64_t j) { return data[i * (columns + gap) + j]; }
  T operator()(int64_t i, int64_t j) const { return data[i * (columns + gap) + j]; }

  bool GapIsUntouched() const {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = columns; j < columns + gap; ++j) {
        if (data[i * (columns + gap) + j] != T(-7)) return false;
      }
    }
    return true;
  }
};

template <class T>
Array<T> Random(int64_t rows, int64_t columns, int64_t gap = 0, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Array<T> a(rows, columns, gap);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      a(i, j) = uniform(random);
      if constexpr (std::is_same_v<T, Complex>) a(i, j) = {a(i, j).real(), uniform(random)};
    }
  }
  return a;
}
// Returns a well-conditioned matrix: r and the reflectors are determined as accurately as a.
template <class T>
Array<T> WellConditioned(int64_t rows, int64_t columns, int64_t gap = 0) {
  Array<T> a = Random<T>(rows, columns, gap);
  const double size = std::sqrt(static_cast<double>(std::max(rows, columns)));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) a(i, j) = a(i, j) / size + (i == j ? 3.0 : 0.0);
  }
  return a;
}

// Scales each column by a power of two, which is exact.
template <class T>
void ScaleColumns(Array<T>& a, const std::vector<int>& exponents) {
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) a(i, j) *= std::ldexp(1.0, exponents[j % exponents.size()]);
  }
}

// Avoids overflow.
template <class T>
double ColumnNorm(const Array<T>& a, int64_t j) {
  double norm = 0;
  for (int64_t i = 0; i < a.rows; ++i) norm = std::hypot(norm, std::abs(a(i, j)));
  return norm;
}
template <class T>
double Norm(const Array<T>& a) {
  double norm = 0;
  for (int64_t j = 0; j < a.columns; ++j) norm = std::hypot(norm, ColumnNorm(a, j));
  return norm;
}
double Bound(int64_t rows, int64_t columns) {
  return 8 * static_cast<double>(std::max<int64_t>({rows, columns, 1})) * kEpsilon;
}

// Expects that columns differ by at most the bound times the norm of the same column of `scale`.
template <class T>
void ExpectNear(const Array<T>& got, const Array<T>& expected, const Array<T>& scale, double bound) {
  ASSERT_EQ(got.rows, expected.rows);
  ASSERT_EQ(got.columns, expected.columns);
  for (int64_t j = 0; j < got.columns; ++j) {
    double difference = 0;
    for (int64_t i = 0; i < got.rows; ++i)
      difference = std::hypot(difference, std::abs(got(i, j) - expected(i, j)));
    ASSERT_LE(difference, bound * ColumnNorm(scale, j)) << "in column " << j;
  }
}

template <class T>
Array<T> Times(const Array<T>& a, const Array<T>& b, bool adjoint = false) {
  Array<T> c(adjoint ? a.columns : a.rows, b.columns);
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.columns; ++j) c(i, j) = 0;
    for (int64_t k = 0; k < b.rows; ++k) {
      const T factor = adjoint ? Conj(a(k, i)) : a(i, k);
      for (int64_t j = 0; j < c.columns; ++j) c(i, j) += factor * b(k, j);
    }
  }
  return c;
}

template <class T>
struct Factors {
  Array<T> reflectors;
  std::vector<T> taus;
};
template <class T>
Factors<T> Factored(const Array<T>& a) {
  Factors<T> f{a, std::vector<T>(std::min(a.rows, a.columns))};
  lapack::Geqrf(f.reflectors.view(), absl::MakeSpan(f.taus));
  EXPECT_TRUE(f.reflectors.GapIsUntouched());
  return f;
}
// Returns r with as many rows as there are reflectors; the elements below the diagonal are 0.
template <class T>
Array<T> UpperOf(const Factors<T>& f) {
  Array<T> r(static_cast<int64_t>(f.taus.size()), f.reflectors.columns);
  for (int64_t i = 0; i < r.rows; ++i) {
    for (int64_t j = 0; j < r.columns; ++j) r(i, j) = j < i ? T(0) : f.reflectors(i, j);
  }
  return r;
}
// Returns the first `columns` columns of q.
template <class T>
Array<T> OrthogonalOf(const Factors<T>& f, int64_t columns) {
  Array<T> q(f.reflectors.rows, columns, f.reflectors.gap);
  for (int64_t i = 0; i < q.rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) q(i, j) = j < f.reflectors.columns ? f.reflectors(i, j) : T(7);
  }
  lapack::Orgqr(q.view(), absl::MakeConstSpan(f.taus));
  EXPECT_TRUE(q.GapIsUntouched());
  return q;
}

template <class T>
void ExpectOrthogonal(const Array<T>& q) {
  Array<T> one(q.columns, q.columns);
  for (int64_t i = 0; i < q.columns; ++i) {
    for (int64_t j = 0; j < q.columns; ++j) one(i, j) = i == j ? 1 : 0;
  }
  ExpectNear(Times(q, q, true), one, one, Bound(q.rows, q.columns));
}
template <class T>
void ExpectFactors(const Array<T>& a) {
  const Factors<T> f = Factored(a);
  const Array<T> q = OrthogonalOf(f, static_cast<int64_t>(f.taus.size()));
  ExpectNear(Times(q, UpperOf(f)), a, a, Bound(a.rows, a.columns));
  ExpectOrthogonal(q);
}
template <class T>
void ExpectSameAsReference(const Array<T>& a) {
  const Factors<T> f = Factored(a);
  Factors<T> expected{a, std::vector<T>(f.taus.size())};
  reference::lapack::Geqrf(expected.reflectors.view(), absl::MakeSpan(expected.taus));
  const double bound = Bound(a.rows, a.columns);
  ExpectNear(UpperOf(f), UpperOf(expected), a, bound);
  for (size_t j = 0; j < f.taus.size(); ++j) {
    ASSERT_LE(std::abs(f.taus[j] - expected.taus[j]), bound) << "tau " << j;
    for (int64_t i = static_cast<int64_t>(j) + 1; i < a.rows; ++i)
      ASSERT_LE(std::abs(f.reflectors(i, j) - expected.reflectors(i, j)), bound) << "v " << i << " " << j;
  }
}

struct Size {
  int64_t rows, columns, gap = 0;
};
constexpr Size kSizes[] = {{0, 0},    {0, 3},       {3, 0},     {1, 1},      {2, 1},        {1, 5},
                           {2, 2},    {5, 3},       {3, 5},     {8, 8},      {7, 13, 3},    {31, 31},
                           {32, 32},  {33, 33},     {64, 64},   {65, 65, 7}, {40, 33},      {33, 40},
                           {20, 100}, {100, 20},    {32, 64},   {64, 32},    {150, 70},     {70, 150, 1},
                           {1000, 5}, {5, 1000},    {3, 3000},  {129, 128},  {400, 33},     {33, 400},
                           {400, 65}, {350, 64, 1}, {490, 480}, {300, 300},  {257, 96, 160}};

template <class F>
void ForEachSize(F&& f) {
  for (const Size& size : kSizes) {
    SCOPED_TRACE(std::to_string(size.rows) + " x " + std::to_string(size.columns) + ", gap " +
                 std::to_string(size.gap));
    f(size);
  }
}

template <class T>
class Qr : public testing::Test {};
using Types = testing::Types<double, Complex>;
TYPED_TEST_SUITE(Qr, Types);

TYPED_TEST(Qr, MultipliesToTheMatrix) {
  ForEachSize([](const Size& s) { ExpectFactors(Random<TypeParam>(s.rows, s.columns, s.gap)); });
}

TYPED_TEST(Qr, HasTheReferencesReflectors) {
  ForEachSize(
      [](const Size& s) { ExpectSameAsReference(WellConditioned<TypeParam>(s.rows, s.columns, s.gap)); });
}

TYPED_TEST(Qr, GeneratesTheReferencesColumns) {
  ForEachSize([](const Size& s) {
    const Factors<TypeParam> f = Factored(Random<TypeParam>(s.rows, s.columns, s.gap));
    // Fewer columns than reflectors, as many, and more.
    for (const int64_t columns : {std::min<int64_t>({2, s.rows, s.columns}), std::min(s.rows, s.columns),
                                  std::min<int64_t>(s.rows, 150)}) {
      const Array<TypeParam> q = OrthogonalOf(f, columns);
      Array<TypeParam> expected = q;
      for (int64_t i = 0; i < q.rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) expected(i, j) = j < s.columns ? f.reflectors(i, j) : 0;
      }
      reference::lapack::Orgqr(expected.view(), absl::MakeConstSpan(f.taus));
      ExpectNear(q, expected, expected, Bound(s.rows, s.columns));
      ExpectOrthogonal(q);
    }
  });
}

TYPED_TEST(Qr, MultipliesByTheFactorAsTheReferenceDoes) {
  ForEachSize([](const Size& s) {
    const Factors<TypeParam> f = Factored(Random<TypeParam>(s.rows, s.columns, s.gap));
    for (const int64_t others : {0, 1, 8, 70}) {
      for (const bool left : {false, true}) {
        for (const bool adjoint : {false, true}) {
          const Array<TypeParam> c =
              left ? Random<TypeParam>(s.rows, others, 3, 2) : Random<TypeParam>(others, s.rows, 3, 2);
          Array<TypeParam> got = c, expected = c;
          lapack::Ormqr(f.reflectors.view(), absl::MakeConstSpan(f.taus), got.view(), left, adjoint);
          reference::lapack::Ormqr(f.reflectors.view(), absl::MakeConstSpan(f.taus), expected.view(), left,
                                   adjoint);
          const double bound = Bound(s.rows, s.columns) * Norm(c);
          for (size_t i = 0; i < c.data.size(); ++i)
            ASSERT_LE(std::abs(got.data[i] - expected.data[i]), bound) << i << " of " << others;
          ASSERT_TRUE(got.GapIsUntouched());
        }
      }
    }
  });
}

TYPED_TEST(Qr, HandlesColumnsOfAnyMagnitude) {
  for (const std::vector<int>& exponents :
       std::vector<std::vector<int>>{{996}, {-996}, {0, 996, -996, -300}}) {
    for (const Size& s : {Size{8, 8}, Size{65, 40}, Size{40, 70}, Size{200, 100}}) {
      Array<TypeParam> a = WellConditioned<TypeParam>(s.rows, s.columns);
      ScaleColumns(a, exponents);
      ExpectSameAsReference(a);
      ExpectFactors(a);
    }
  }
}

TYPED_TEST(Qr, StaysOrthogonalForDenormalColumns) {
  Array<TypeParam> a = WellConditioned<TypeParam>(20, 8);
  ScaleColumns(a, {-1060});
  ExpectOrthogonal(OrthogonalOf(Factored(a), 8));
}

TYPED_TEST(Qr, HandlesTailsWhoseSquaresUnderflow) {
  Array<TypeParam> a = Random<TypeParam>(40, 1);
  ScaleColumns(a, {-600});
  a(0, 0) = 1;
  const Factors<TypeParam> f = Factored(a);
  EXPECT_EQ(f.taus[0], TypeParam(2));
  EXPECT_EQ(f.reflectors(0, 0), TypeParam(-1));
  EXPECT_EQ(f.reflectors(1, 0), a(1, 0) / 2.0);
  ExpectSameAsReference(a);
}

TYPED_TEST(Qr, HandlesFirstElementsWhoseSquareOverflows) {
  Array<TypeParam> a = Random<TypeParam>(40, 1);
  a(0, 0) = 1e300;
  ExpectSameAsReference(a);
}

struct Pivoted {
  std::vector<int64_t> pivots;
  bool by_reference = false;
};
// QR with column pivoting (geqp3); marked columns stay in front.
template <class T>
Factors<T> FactoredWithPivots(const Array<T>& a, Pivoted& p) {
  Factors<T> f{a, std::vector<T>(std::min(a.rows, a.columns))};
  const auto geqp3 = p.by_reference ? reference::lapack::Geqp3<T> : lapack::Geqp3<T>;
  geqp3(f.reflectors.view(), absl::MakeSpan(p.pivots), absl::MakeSpan(f.taus));
  EXPECT_TRUE(f.reflectors.GapIsUntouched());
  return f;
}
template <class T>
void ExpectPivoted(const Array<T>& a, const std::vector<int64_t>& marks) {
  Pivoted p{marks}, expected{marks, true};
  const Factors<T> f = FactoredWithPivots(a, p);
  FactoredWithPivots(a, expected);
  EXPECT_EQ(p.pivots, expected.pivots);
  Array<T> chosen(a.rows, a.columns);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) chosen(i, j) = a(i, p.pivots[j] - 1);
  }
  const Array<T> q = OrthogonalOf(f, static_cast<int64_t>(f.taus.size()));
  ExpectNear(Times(q, UpperOf(f)), chosen, chosen, Bound(a.rows, a.columns));
  // The remaining part of later columns is not longer than this one.
  const int64_t fixed = std::count_if(marks.begin(), marks.end(), [](int64_t mark) { return mark != 0; });
  for (int64_t i = fixed; i < static_cast<int64_t>(f.taus.size()); ++i) {
    for (int64_t j = i + 1; j < a.columns; ++j) {
      double norm = 0;
      for (int64_t k = i; k <= std::min<int64_t>(j, f.taus.size() - 1); ++k)
        norm = std::hypot(norm, std::abs(f.reflectors(k, j)));
      ASSERT_LE(norm, std::abs(f.reflectors(i, i)) * (1 + 1e-6)) << i << " " << j;
    }
  }
}

TYPED_TEST(Qr, SelectsThePivotsOfTheReference) {
  for (const Size& s : kSizes) {
    if (s.rows * s.columns > 30'000) continue;
    const Array<TypeParam> a = Random<TypeParam>(s.rows, s.columns, s.gap);
    std::vector<int64_t> marks(s.columns);
    ExpectPivoted(a, marks);
    for (size_t j = 1; j < marks.size(); j += 3) marks[j] = 1;
    ExpectPivoted(a, marks);
  }
}

TYPED_TEST(Qr, RecomputesNormsAfterCancellation) {
  // Nearly parallel columns whose differences have many magnitudes.
  Array<TypeParam> a = Random<TypeParam>(60, 40);
  for (int64_t j = 1; j < a.columns; ++j) {
    for (int64_t i = 0; i < a.rows; ++i)
      a(i, j) = a(i, 0) + std::ldexp(1.0, -static_cast<int>(j * 7 % 40)) * a(i, j);
  }
  ExpectPivoted(a, std::vector<int64_t>(a.columns));
  ScaleColumns(a, {-996});
  ExpectPivoted(a, std::vector<int64_t>(a.columns));
}

TYPED_TEST(Qr, KeepsTriangularMatrices) {
  for (const int64_t n : {1, 8, 40, 150}) {
    Array<TypeParam> a = Random<TypeParam>(n + 3, n);
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t j = 0; j < std::min(i, n); ++j) a(i, j) = 0;
      if (i < n) a(i, i) = std::real(a(i, i));
    }
    const Factors<TypeParam> f = Factored(a);
    for (const TypeParam tau : f.taus) EXPECT_EQ(tau, TypeParam(0));
    EXPECT_EQ(f.reflectors.data, a.data);
  }
}

TYPED_TEST(Qr, MakesDiagonalsReal) {
  Array<TypeParam> a = Random<TypeParam>(150, 150);
  const Factors<TypeParam> f = Factored(a);
  for (int64_t i = 0; i < a.rows; ++i) EXPECT_EQ(std::imag(f.reflectors(i, i)), 0);
}

TYPED_TEST(Qr, SkipsColumnsOfZeros) {
  for (const int64_t n : {8, 100}) {
    Array<TypeParam> a = Random<TypeParam>(2 * n, n);
    for (int64_t i = 0; i < a.rows; ++i) a(i, 0) = a(i, n / 2) = 0;
    const Factors<TypeParam> f = Factored(a);
    for (const int64_t j : {int64_t{0}, n / 2}) {
      EXPECT_EQ(f.taus[j], TypeParam(0));
      for (int64_t i = 0; i < a.rows; ++i) EXPECT_EQ(f.reflectors(i, j), TypeParam(0));
    }
    ExpectFactors(a);
  }
}

TYPED_TEST(Qr, NaNAffectsOnlyLaterColumns) {
  for (const int64_t n : {8, 150}) {
    const Array<TypeParam> clean = Random<TypeParam>(n + 2, n);
    Array<TypeParam> a = clean;
    const int64_t column = n / 2;
    a(n - 1, column) = std::numeric_limits<double>::quiet_NaN();
    const Factors<TypeParam> f = Factored(a), expected = Factored(clean);
    for (int64_t j = 0; j < n; ++j) {
      EXPECT_EQ(std::isnan(std::real(f.taus[j])), j >= column) << j;
      EXPECT_EQ(std::isnan(std::real(f.reflectors(j, j))), j >= column) << j;
      for (int64_t i = 0; i < a.rows && j < column; ++i)
        EXPECT_EQ(f.reflectors(i, j), expected.reflectors(i, j)) << i << " " << j;
    }
  }
}

template <class T>
std::vector<T> EveryResult(int threads, int64_t rows, int64_t columns) {
  SetThreadCount(threads);
  const Factors<T> f = Factored(Random<T>(rows, columns));
  std::vector<T> results = f.reflectors.data;
  results.insert(results.end(), f.taus.begin(), f.taus.end());
  const Array<T> q = OrthogonalOf(f, std::min(rows, columns));
  results.insert(results.end(), q.data.begin(), q.data.end());
  for (const bool left : {false, true}) {
    Array<T> c = left ? Random<T>(rows, 50) : Random<T>(50, rows);
    lapack::Ormqr(f.reflectors.view(), absl::MakeConstSpan(f.taus), c.view(), left, left);
    results.insert(results.end(), c.data.begin(), c.data.end());
  }
  return results;
}

TYPED_TEST(Qr, GivesTheSameBitsWithAnyNumberOfThreads) {
  SetMinParallelNanoseconds(0);
  for (const Size& s : {Size{300, 300}, Size{4000, 40}, Size{65, 400}}) {
    const std::vector<TypeParam> one = EveryResult<TypeParam>(1, s.rows, s.columns);
    for (const int threads : {2, 3}) {
      const std::vector<TypeParam> more = EveryResult<TypeParam>(threads, s.rows, s.columns);
      ASSERT_EQ(one.size(), more.size());
      EXPECT_EQ(std::memcmp(one.data(), more.data(), one.size() * sizeof(TypeParam)), 0);
    }
  }
  SetThreadCount(0);
  SetMinParallelNanoseconds(20'000);
}

}  // namespace
}  // namespace hlo::lapack::qr_test
