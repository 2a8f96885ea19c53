// Tests eigenvalues and singular values on GPUs by their definitions, within a-priori bounds: residuals,
// orthogonality, order, and known values.

#include <string>
#include <vector>

#include "as_reference.h"
#include "fmt/format.h"
#include "spectral_matrices.h"

namespace hlo::gpu_spectra_test {
namespace {

using test::Array;
using test::Complex;

// Names of element types, their wide type, and their precision.
template <class Wide, class Stored>
struct Kind {
  using W = Wide;
  using S = Stored;
  static constexpr bool kIsComplex = std::is_same_v<Wide, Complex>;
  static constexpr bool kIsSingle = sizeof(Stored) < sizeof(Wide);
  static constexpr const char* kType =
      kIsComplex ? (kIsSingle ? "c64" : "c128") : (kIsSingle ? "f32" : "f64");
  static constexpr const char* kReal = kIsSingle ? "f32" : "f64";
  static constexpr char kLetter = kIsComplex ? (kIsSingle ? 'c' : 'z') : (kIsSingle ? 's' : 'd');
  // Results of single precision are rounded once.
  static constexpr double kUnits = kIsSingle ? 0x1p-23 / test::kEpsilon : 1;
};
using Kinds = ::testing::Types<Kind<double, double>, Kind<double, float>, Kind<Complex, Complex>,
                               Kind<Complex, std::complex<float>>>;

template <class K>
Literal Stored(const std::vector<Array<typename K::W>>& matrices) {
  const auto& view = matrices[0].view;
  Literal literal = *Literal::Create(Shape::Array(
      *ParseElementType(K::kType), {static_cast<int64_t>(matrices.size()), view.rows, view.columns}));
  auto* to = literal.template mutable_span<typename K::S>().data();
  for (const auto& matrix : matrices) {
    for (int64_t i = 0; i < view.rows; ++i) {
      for (int64_t j = 0; j < view.columns; ++j) *to++ = static_cast<typename K::S>(matrix.view(i, j));
    }
  }
  return literal;
}

// Returns entry `number` of a batch of matrices, or its adjoint.
template <class K>
Array<typename K::W> Entry(const Literal& literal, int64_t number, bool adjoint = false) {
  using W = typename K::W;
  const int64_t rows = literal.dim(1), columns = literal.dim(2);
  Array<W> result(adjoint ? columns : rows, adjoint ? rows : columns);
  const auto* from = literal.template span<typename K::S>().data() + number * rows * columns;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const W x(*from++);
      if (adjoint)
        result.view(j, i) = Conj(x);
      else
        result.view(i, j) = x;
    }
  }
  return result;
}

template <class K>
std::vector<double> Numbers(const Literal& literal, int64_t number) {
  const int64_t count = literal.dim(1);
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i) {
    values[i] = K::kIsSingle ? literal.template span<float>()[number * count + i]
                             : literal.template span<double>()[number * count + i];
  }
  return values;
}

// Runs the call on every device, without steps on the CPU, and passes the results to `check`. All types have
// the kernels of the wide ones, so that one device suffices for the others.
template <class K, class Check>
void RunCall(const std::string& text, const Literal& argument, Check&& check) {
  SCOPED_TRACE(text);
  const CheckedModule module = Load(text);
  std::vector<Device> devices = TestDevices();
  if (K::kIsSingle) devices.resize(1, devices[0]);
  for (const Device& device : devices) {
    absl::StatusOr<Executable> executable = Executable::Make(module, Engine::kFast, {}, device);
    ASSERT_TRUE(executable.ok()) << executable.status();
    const absl::StatusOr<Literal> results = executable->Run({argument});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_TRUE(executable->fallbacks().empty()) << executable->fallbacks()[0].reason;
    check(*results);
  }
}

std::string CallText(const std::string& argument, const std::string& results, const std::string& target,
                     const std::string& options) {
  return fmt::format(
      "HloModule t\nENTRY e {{ a = {} parameter(0) ROOT r = ({}) custom-call(a), custom_call_target=\"{}\", "
      "api_version=API_VERSION_TYPED_FFI, backend_config={{{}}} }}",
      argument, results, target, options);
}

// ExpectOrthonormal of the rounded vectors.
template <class K>
void ExpectOrthonormalColumns(const Matrix<typename K::W>& q) {
  double worst = 0;
  for (int64_t j = 0; j < q.columns; ++j) {
    for (int64_t k = 0; k <= j; ++k) {
      typename K::W dot(j == k ? -1 : 0);
      for (int64_t i = 0; i < q.rows; ++i) dot += Conj(q(i, k)) * q(i, j);
      if (!(std::abs(dot) <= worst)) worst = std::abs(dot);
    }
  }
  EXPECT_LE(worst, K::kUnits * test::Bound(q.rows, 1));
}

// Expects |a right - left diag(values)| <= bound.
template <class K, class W = typename K::W>
void ExpectDecomposition(const Matrix<const W>& a, const Matrix<W>& left, const std::vector<double>& values,
                         const Matrix<W>& right, double size) {
  double worst = 0;
  for (int64_t i = 0; i < a.rows; ++i) {
    for (size_t k = 0; k < values.size(); ++k) {
      W sum = -left(i, k) * (values[k] / size);
      for (int64_t j = 0; j < a.columns; ++j) sum += a(i, j) / size * right(j, k);
      if (!(std::abs(sum) <= worst)) worst = std::abs(sum);
    }
  }
  EXPECT_LE(worst, K::kUnits * test::Bound(a.rows + a.columns, 1));
}

template <class K>
void CheckEigen(const std::vector<Array<typename K::W>>& matrices, bool lower,
                const std::vector<double>& expected = {}) {
  using W = typename K::W;
  std::vector<Array<W>> triangles = matrices;
  const int64_t n = matrices[0].view.rows, batch = static_cast<int64_t>(matrices.size());
  for (Array<W>& triangle : triangles) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        if (lower ? i < j : i > j) triangle.view(i, j) = W(std::nan(""));
      }
    }
  }
  const std::string shape = fmt::format("{}[{},{},{}]", K::kType, batch, n, n);
  const std::string text =
      CallText(shape, fmt::format("{0}, {1}[{2},{3}], s32[{2}]", shape, K::kReal, batch, n),
               fmt::format("lapack_{}{}_ffi", K::kLetter, K::kIsComplex ? "heevd" : "syevd"),
               fmt::format("mode = 86 : ui8, uplo = {} : ui8", lower ? 76 : 85));
  const Literal stored = Stored<K>(matrices);  // The matrices as rounded.
  RunCall<K>(text, Stored<K>(triangles), [&](const Literal& results) {
    for (int64_t k = 0; k < batch; ++k) {
      EXPECT_EQ(results.element(2).span<int32_t>()[k], 0);
      const Array<W> a = Entry<K>(stored, k), v = Entry<K>(results.element(0), k);
      const std::vector<double> w = Numbers<K>(results.element(1), k);
      EXPECT_TRUE(std::is_sorted(w.begin(), w.end()));
      const double size = test::SizeOf(a.view);
      ExpectOrthonormalColumns<K>(v.view);
      ExpectDecomposition<K>(a.view.AsConst(), v.view, w, v.view, size);
      if (!expected.empty()) test::ExpectNear(w, expected, K::kUnits * test::Bound(n, size));
    }
  });
}

template <class K>
void CheckSvd(const std::vector<Array<typename K::W>>& matrices, bool full,
              const std::vector<double>& expected = {}, bool is_adjoint = true) {
  using W = typename K::W;
  const int64_t m = matrices[0].view.rows, n = matrices[0].view.columns, k = std::min(m, n);
  const int64_t p = full ? m : k, q = full ? n : k, batch = static_cast<int64_t>(matrices.size());
  const std::string shape = fmt::format("{}[{},{},{}]", K::kType, batch, m, n);
  const std::string results =
      fmt::format("{0}, {1}[{2},{3}], {4}[{2},{5},{6}], {4}[{2},{7},{8}], s32[{2}]", shape, K::kReal, batch,
                  k, K::kType, m, p, is_adjoint ? q : n, is_adjoint ? n : q);
  const std::string text =
      is_adjoint ? CallText(shape, results, fmt::format("lapack_{}gesdd_ffi", K::kLetter), "mode = 65 : ui8")
                 : CallText(shape, results, "cusolver_gesvdj_ffi", "compute_uv = true");
  const Literal stored = Stored<K>(matrices);
  RunCall<K>(text, stored, [&](const Literal& got) {
    for (int64_t entry = 0; entry < batch; ++entry) {
      EXPECT_EQ(got.element(4).span<int32_t>()[entry], 0);
      const Array<W> a = Entry<K>(stored, entry), u = Entry<K>(got.element(2), entry),
                     v = Entry<K>(got.element(3), entry, is_adjoint);
      const std::vector<double> s = Numbers<K>(got.element(1), entry);
      EXPECT_TRUE(std::is_sorted(s.rbegin(), s.rend()));
      const double size = test::SizeOf(a.view);
      ExpectOrthonormalColumns<K>(u.view);
      ExpectOrthonormalColumns<K>(v.view);
      ExpectDecomposition<K>(a.view.AsConst(), u.view, s, v.view, size);
      if (!expected.empty()) test::ExpectNear(s, expected, K::kUnits * test::Bound(m + n, size));
    }
  });
}

template <class K>
class Spectra : public ::testing::Test {};
TYPED_TEST_SUITE(Spectra, Kinds);

TYPED_TEST(Spectra, EigenvectorsOfBatches) {
  using W = typename TypeParam::W;
  for (const int64_t n : {1, 2, 5, 9}) {
    for (const bool lower : {true, false})
      CheckEigen<TypeParam>({test::Hermitian<W>(n, 3), test::Hermitian<W>(n, 4)}, lower);
  }
}

TYPED_TEST(Spectra, EigenvaluesOfKnownMatrices) {
  using W = typename TypeParam::W;
  constexpr int64_t kSize = 8;
  const auto check = [&](const std::vector<double>& values) {
    std::vector<double> sorted = values;
    sorted.resize(kSize);
    std::sort(sorted.begin(), sorted.end());
    CheckEigen<TypeParam>({test::WithValues<W>(kSize, kSize, values, true)}, true, sorted);
  };
  check(test::Clustered(kSize));
  check(test::Graded(kSize, 0.3));
  check(test::Graded(kSize / 2, 0.9));
  check({-1, 1, -1, 1, 2, -2});
  std::vector<double> one(kSize);  // The eigenvalues of the matrix whose elements are 77.
  one.back() = 77.0 * kSize;
  CheckEigen<TypeParam>({Array<W>(kSize, kSize)}, true, one);
}

TYPED_TEST(Spectra, EigenvaluesOfADiagonalAreItsElements) {
  using W = typename TypeParam::W;
  Array<W> a(5, 5);
  const std::vector<double> values = {-3, 0, 1.5, 1.5, 1e6};
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 5; ++j) a.view(i, j) = W(i == j ? values[4 - i] : 0);
  }
  const std::string text =
      CallText(fmt::format("{}[1,5,5]", TypeParam::kType),
               fmt::format("{}[1,5,5], {}[1,5]", TypeParam::kType, TypeParam::kReal), "Eigh", "");
  const auto with_config = [&](std::string call) {
    const size_t at = call.find("api_version");
    return call.substr(0, at) + "backend_config=\"1,1,100,1e-6\" }";
  };
  RunCall<TypeParam>(with_config(text), Stored<TypeParam>({a}), [&](const Literal& results) {
    EXPECT_EQ(Numbers<TypeParam>(results.element(1), 0), values);
  });
}

TYPED_TEST(Spectra, SingularVectorsOfBatches) {
  using W = typename TypeParam::W;
  const int64_t sizes[][2] = {{1, 1}, {1, 4}, {3, 3}, {7, 4}, {4, 7}, {34, 3}};
  for (const auto& [m, n] : sizes) {
    for (const bool full : {false, true}) {
      CheckSvd<TypeParam>({test::RandomMatrix<W>(m, n, 3), test::RandomMatrix<W>(m, n, 4)}, full);
      if (full) CheckSvd<TypeParam>({test::RandomMatrix<W>(m, n, 5)}, full, {}, false);
    }
  }
}

TYPED_TEST(Spectra, SingularValuesOfKnownMatrices) {
  using W = typename TypeParam::W;
  const auto check = [&](const std::vector<double>& values) {
    std::vector<double> sorted = values;
    sorted.resize(6);
    std::sort(sorted.rbegin(), sorted.rend());
    CheckSvd<TypeParam>({test::WithValues<W>(8, 6, values, false)}, true, sorted);
    CheckSvd<TypeParam>({test::WithValues<W>(6, 8, values, false)}, false, sorted);
  };
  check(test::Clustered(6));
  check(test::Graded(6, 0.1));
  check(test::Graded(3, 0.9));
  check(std::vector<double>(6, 2));
}

// Matrices without an element that is not zero, of rank 1, and with rows or columns graded by 1e300.
TYPED_TEST(Spectra, SingularVectorsOfSpecialMatrices) {
  using W = typename TypeParam::W;
  Array<W> zero(7, 5), ones(7, 5), by_rows(7, 5), by_columns(7, 5);
  const double range = TypeParam::kIsSingle ? 30 : 300;
  const Array<W> random = test::RandomMatrix<W>(7, 5, 2);
  for (int64_t i = 0; i < 7; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      zero.view(i, j) = W(0);
      ones.view(i, j) = W(1);
      by_rows.view(i, j) = random.view(i, j) * std::pow(10, range * static_cast<double>(i - 4) / 5);
      by_columns.view(i, j) = random.view(i, j) * std::pow(10, -range * static_cast<double>(j - 3) / 4);
    }
  }
  for (const bool full : {false, true}) {
    CheckSvd<TypeParam>({zero, by_columns}, full);
    CheckSvd<TypeParam>({ones, by_rows}, full);
  }
}

// The columns of their triangular factors become subnormal.
TEST(LargeSpectra, SingularVectorsOfConstantMatrices) {
  Array<double> ones(33, 33);
  std::fill(ones.data.begin(), ones.data.end(), 1.0);
  CheckSvd<Kind<double, double>>({ones}, false);
  Array<double> tiny = test::RandomMatrix<double>(9, 8, 5);
  for (int64_t i = 0; i < 9; ++i) {
    for (int64_t j = 0; j < 8; ++j) tiny.view(i, j) *= i == 0 && j == 0 ? 1 : 1e-320;
  }
  CheckSvd<Kind<double, double>>({tiny}, true);
}

// A matrix that is not finite does not change its neighbours.
TYPED_TEST(Spectra, MatricesThatAreNotFinite) {
  using W = typename TypeParam::W;
  for (const double bad : {std::nan(""), test::kInfinity, -test::kInfinity}) {
    std::vector<Array<W>> matrices = {test::Hermitian<W>(5, 1), test::Hermitian<W>(5, 2)};
    matrices[1].view(4, 2) = bad;
    const auto expect = [&](const Literal& results, int vectors, int info) {
      EXPECT_EQ(results.element(info).span<int32_t>()[0], 0);
      EXPECT_NE(results.element(info).span<int32_t>()[1], 0);
      for (const double x : Numbers<TypeParam>(results.element(1), 0)) EXPECT_FALSE(std::isnan(x));
      for (const double x : Numbers<TypeParam>(results.element(1), 1)) EXPECT_TRUE(std::isnan(x));
      for (const W& x : Entry<TypeParam>(results.element(vectors), 0).data)
        EXPECT_FALSE(std::isnan(std::real(x)));
      for (const W& x : Entry<TypeParam>(results.element(vectors), 1).data)
        EXPECT_TRUE(std::isnan(std::real(x)));
    };
    const std::string shape = fmt::format("{}[2,5,5]", TypeParam::kType),
                      values = fmt::format("{}[2,5]", TypeParam::kReal);
    RunCall<TypeParam>(CallText(shape, fmt::format("{}, {}, s32[2]", shape, values),
                                fmt::format("lapack_{}{}_ffi", TypeParam::kLetter,
                                            TypeParam::kIsComplex ? "heevd" : "syevd"),
                                "mode = 86 : ui8, uplo = 76 : ui8"),
                       Stored<TypeParam>(matrices), [&](const Literal& results) { expect(results, 0, 2); });
    RunCall<TypeParam>(CallText(shape, fmt::format("{0}, {1}, {0}, {0}, s32[2]", shape, values),
                                fmt::format("lapack_{}gesdd_ffi", TypeParam::kLetter), "mode = 83 : ui8"),
                       Stored<TypeParam>(matrices), [&](const Literal& results) { expect(results, 3, 4); });
  }
}

// The emulator would need minutes; jacobi_test.cc tests groups of columns there.
TEST(LargeSpectra, ColumnsThatDoNotFitSharedMemory) {
  if (!test::OnGpu()) GTEST_SKIP() << "needs a GPU";
  using Double = Kind<double, double>;
  CheckEigen<Double>({test::Hermitian<double>(300, 3), test::Hermitian<double>(300, 4)}, true);
  CheckSvd<Double>({test::RandomMatrix<double>(200, 180, 3), test::RandomMatrix<double>(200, 180, 5)}, true);
}

}  // namespace
}  // namespace hlo::gpu_spectra_test
