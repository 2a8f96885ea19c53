// Tests cholesky, triangular-solve and LAPACK custom calls: both engines agree within a few ULP, and the
// factors multiply to the original matrix.

#include <cmath>
#include <limits>

#include "absl/strings/str_replace.h"
#include "base/parallel.h"
#include "kernels/lapack/lu.h"
#include "kernels/lapack/triangular.h"
#include "triangular_programs.h"

namespace hlo::factorisations_test {
namespace {

using Complex = std::complex<double>;

void ExpectAgrees(const test::Program& program) {
  const ElementType type = program.arguments[0].type();
  test::ExpectEnginesAgreeOn(program.text, program.arguments, {.rule = test::UnitsOf(type)});
}

constexpr const char* kTypes[] = {"f64", "f32", "bf16", "f16", "c64", "c128"};

TEST(Cholesky, AgreesWithTheReferenceForEverySize) {
  for (const char* type : {"f64", "c128"}) {
    for (const int64_t n : {0, 1, 2, 7, 63, 64, 65, 128, 150, 321}) {
      ExpectAgrees(test::Factors(type, {n, n}, true));
      ExpectAgrees(test::Factors(type, {n, n}, false));
    }
  }
}

TEST(Cholesky, TypesAndBatches) {
  for (const char* type : kTypes) {
    ExpectAgrees(test::Factors(type, {2, 3, 7, 7}, true));
    ExpectAgrees(test::Factors(type, {3, 100, 100}, false));
  }
  ExpectAgrees(test::Factors("f32", {0, 5, 5}, true));
}

TEST(Cholesky, AMatrixThatHasNoFactor) {
  for (const char* type : {"f32", "c128"}) {
    for (const int64_t at : {0, 40, 63, 64, 99}) ExpectAgrees(test::Factors(type, {3, 100, 100}, true, at));
  }
}

TEST(TriangularSolve, AllForms) {
  for (const test::Sides& sides : test::AllSides()) {
    ExpectAgrees(test::Solves("f64", {}, 150, 5, sides));
    ExpectAgrees(test::Solves("c128", {2}, 70, 3, sides));
    ExpectAgrees(test::Solves("c64", {}, 130, 40, sides));
  }
}

TEST(TriangularSolve, SizesAndTypes) {
  for (const char* type : kTypes) {
    for (const int64_t n : {1, 7, 64, 129}) {
      for (const int64_t others : {1, 67}) {
        ExpectAgrees(test::Solves(type, {}, n, others, {true, true, false, "NO_TRANSPOSE"}));
        ExpectAgrees(test::Solves(type, {3}, n, others, {false, false, false, "NO_TRANSPOSE"}));
      }
    }
  }
  ExpectAgrees(test::Solves("f32", {}, 5, 0, {true, true, false, "NO_TRANSPOSE"}));
  ExpectAgrees(test::Solves("f32", {2}, 0, 3, {true, true, false, "NO_TRANSPOSE"}));
  ExpectAgrees(test::Solves("f32", {0}, 4, 3, {true, true, false, "NO_TRANSPOSE"}));
}

// --- Custom calls.

test::Program Call(const char* target, const char* options, const std::string& results,
                   const test::Program& operands) {
  test::Program program{"ENTRY e {", operands.arguments};
  std::string names;
  for (size_t i = 0; i < operands.arguments.size(); ++i) {
    program.text += fmt::format(" p{0} = {1} parameter({0})", i, ToString(operands.arguments[i].shape()));
    names += fmt::format("{}p{}", i == 0 ? "" : ", ", i);
  }
  program.text += fmt::format(
      " ROOT r = {} custom-call({}), custom_call_target=\"{}\", api_version=API_VERSION_TYPED_FFI, "
      "backend_config={{{}}} }}",
      results, names, target, options);
  return program;
}

char LetterOf(const char* type) {
  const std::string_view name = type;
  return name == "f32" ? 's' : name == "f64" ? 'd' : name == "c64" ? 'c' : 'z';
}

TEST(Calls, PotrfAgreesWithTheReference) {
  for (const char* type : {"f64", "f32", "c64", "c128"}) {
    for (const bool lower : {true, false}) {
      for (const int64_t negative_at : {-1, 3, 80}) {
        const std::string shape = fmt::format("{}[3,90,90]", type);
        ExpectAgrees(Call(fmt::format("lapack_{}potrf_ffi", LetterOf(type)).c_str(),
                          lower ? "uplo = 76 : ui8" : "uplo = 85 : ui8", fmt::format("({}, s32[3])", shape),
                          test::Factors(type, {3, 90, 90}, lower, negative_at)));
      }
    }
  }
}

TEST(Calls, GetrfAgreesWithTheReference) {
  for (const char* type : {"f64", "f32", "c64", "c128"}) {
    const std::vector<int64_t> sizes[] = {{1, 1},   {2, 5, 5}, {40, 3},   {3, 40},
                                          {17, 17}, {90, 130}, {130, 90}, {2, 150, 150}};
    for (const std::vector<int64_t>& dims : sizes) {
      std::vector<int64_t> batch(dims.begin(), dims.end() - 2), pivots = batch;
      pivots.push_back(std::min(dims[batch.size()], dims.back()));
      test::Program operands;
      operands.arguments = {test::RandomArray(*ParseElementType(type), dims, 7)};
      ExpectAgrees(Call(fmt::format("lapack_{}getrf_ffi", LetterOf(type)).c_str(), "",
                        fmt::format("({}, {}, {})", test::TextOf(type, dims), test::TextOf("s32", pivots),
                                    test::TextOf("s32", batch)),
                        operands));
    }
  }
}

TEST(Calls, TrsmAgreesWithTheReference) {
  for (const char* type : {"f64", "f32", "c64", "c128"}) {
    for (const test::Sides& sides : test::AllSides()) {
      const test::Program operands = test::Solves(type, {2}, 70, 30, sides);
      const char op = sides.op[0] == 'N' ? 78 : sides.op[0] == 'T' ? 84 : 67;
      const std::string options = fmt::format(
          "side = {} : ui8, uplo = {} : ui8, diag = {} : ui8, trans_x = {} : ui8", sides.left ? 76 : 82,
          sides.lower ? 76 : 85, sides.unit_diagonal ? 85 : 78, static_cast<int>(op));
      ExpectAgrees(Call(fmt::format("lapack_{}trsm_ffi", LetterOf(type)).c_str(), options.c_str(),
                        ToString(operands.arguments[1].shape()), operands));
    }
  }
}

TEST(Calls, QrFactors) {
  for (const char* type : {"f64", "f32", "c64", "c128"}) {
    const char letter = LetterOf(type);
    const char* un = letter == 'c' || letter == 'z' ? "un" : "or";
    const std::vector<int64_t> sizes[] = {{2, 5, 5}, {90, 40}, {40, 90}, {3, 70, 70}};
    for (const std::vector<int64_t>& dims : sizes) {
      std::vector<int64_t> taus(dims.begin(), dims.end() - 1), order = taus;
      const int64_t m = dims[dims.size() - 2], n = dims.back();
      taus.back() = std::min(m, n);
      order.back() = n;
      test::Program a;
      a.arguments = {test::RandomArray(*ParseElementType(type), dims, 7)};
      const std::string shape = test::TextOf(type, dims), list = test::TextOf(type, taus);
      ExpectAgrees(Call(fmt::format("lapack_{}geqrf_ffi", letter).c_str(), "",
                        fmt::format("({}, {})", shape, list), a));
      test::Program pivoted = a;
      pivoted.arguments.push_back(*Literal::CreateZeros(Shape::Array(ElementType::kS32, order)));
      ExpectAgrees(Call(fmt::format("lapack_{}geqp3_ffi", letter).c_str(), "",
                        fmt::format("({}, {}, {})", shape, test::TextOf("s32", order), list), pivoted));
      if (m < n) continue;
      test::Program q = a;
      q.arguments.push_back(test::RandomArray(*ParseElementType(type), taus, 8));
      test::Change(q.arguments[0], [&](int64_t i, int64_t j, std::complex<double> v) {
        return i > j ? v / static_cast<double>(m) : v;  // The reflectors must nearly match tau.
      });
      ExpectAgrees(Call(fmt::format("lapack_{}{}gqr_ffi", letter, un).c_str(), "", shape, q));
      test::Program product = q;
      std::vector<int64_t> c = dims;
      c.back() = 30;
      product.arguments.push_back(test::RandomArray(*ParseElementType(type), c, 9));
      ExpectAgrees(Call(fmt::format("lapack_{}{}mqr_ffi", letter, un).c_str(),
                        "left = true, transpose = true", test::TextOf(type, c), product));
    }
  }
}

// A product of the results is independent of the signs of vectors.
struct SpectrumType {
  const char *type, *real;
  char letter;
  const char* evd;
};
constexpr SpectrumType kSpectrumTypes[] = {{"f32", "f32", 's', "syevd"},
                                           {"f64", "f64", 'd', "syevd"},
                                           {"c64", "f32", 'c', "heevd"},
                                           {"c128", "f64", 'z', "heevd"}};
void ExpectSpectrum(std::string text, const SpectrumType& t, int64_t m, int64_t n) {
  const auto matrix = [&](const char* type, int64_t rows) {
    return fmt::format("{}[3,{},{}]", type, rows, n);
  };
  text = absl::StrReplaceAll(text, {{"MATRIX", matrix(t.type, m)},
                                    {"SQUARE", matrix(t.type, n)},
                                    {"REAL", matrix(t.real, n)},
                                    {"SOME", fmt::format("{}[3,{}]", t.type, n)},
                                    {"LIST", fmt::format("{}[3,{}]", t.real, n)},
                                    {"TARGET", fmt::format("lapack_{}", t.letter)},
                                    {"EVD", t.evd}});
  const double bound = std::string_view(t.real) == "f32" ? 1e-4 : 1e-11;
  test::ExpectEnginesAgree(text, {.rule = CompareRule::Close(bound, bound)});
}

constexpr const char* kTransposed = R"(adjoint { x = SQUARE parameter(0)
  ROOT t = SQUARE transpose(x), dimensions={0,2,1} }
)";
constexpr const char* kAdjoint = R"(adjoint { x = SQUARE parameter(0)
  re = REAL real(x)
  im = REAL imag(x)
  no = REAL negate(im)
  y = SQUARE complex(re, no)
  ROOT t = SQUARE transpose(y), dimensions={0,2,1} }
)";

TEST(Calls, EigendecompositionsAgreeWithTheReference) {
  for (const SpectrumType& t : kSpectrumTypes) {
    for (const int64_t n : {1, 7, 60}) {
      ExpectSpectrum(std::string(t.letter == 'c' || t.letter == 'z' ? kAdjoint : kTransposed) +
                         R"(ENTRY e { x = SQUARE parameter(0)
  xt = SQUARE call(x), to_apply=adjoint
  s = SQUARE add(x, xt)
  q = (SQUARE, LIST, s32[3]) custom-call(s), custom_call_target="TARGETEVD_ffi", api_version=API_VERSION_TYPED_FFI, backend_config={mode = 86 : ui8, uplo = 76 : ui8}
  v = SQUARE get-tuple-element(q), index=0
  w = LIST get-tuple-element(q), index=1
  i = s32[3] get-tuple-element(q), index=2
  c = SOME convert(w)
  d = SQUARE broadcast(c), dimensions={0,2}
  vd = SQUARE multiply(v, d)
  vt = SQUARE call(v), to_apply=adjoint
  p = SQUARE dot(vd, vt), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  ROOT r = (SQUARE, LIST, s32[3]) tuple(p, w, i) })",
                     t, n, n);
    }
  }
}

TEST(Calls, SingularValues) {
  for (const SpectrumType& t : kSpectrumTypes) {
    for (const int64_t n : {1, 7, 60}) {
      for (const int64_t m : {n, n + 5}) {
        ExpectSpectrum(R"(ENTRY e { x = MATRIX parameter(0)
  q = (MATRIX, LIST, MATRIX, SQUARE, s32[3]) custom-call(x), custom_call_target="TARGETgesdd_ffi", api_version=API_VERSION_TYPED_FFI, backend_config={mode = 83 : ui8}
  s = LIST get-tuple-element(q), index=1
  u = MATRIX get-tuple-element(q), index=2
  v = SQUARE get-tuple-element(q), index=3
  i = s32[3] get-tuple-element(q), index=4
  c = SOME convert(s)
  d = MATRIX broadcast(c), dimensions={0,2}
  us = MATRIX multiply(u, d)
  p = MATRIX dot(us, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  ROOT r = (MATRIX, LIST, s32[3]) tuple(p, s, i) })",
                       t, m, n);
      }
    }
  }
}

TEST(Calls, UnusedResults) {
  for (const char* type : {"f64", "f32", "c128"}) {
    const char letter = LetterOf(type);
    const std::string matrix = fmt::format("{}[3,40,40]", type), list = fmt::format("{}[3,40]", type),
                      real = fmt::format("{}[3,40]", type == std::string_view("f32") ? "f32" : "f64");
    const auto expect = [&](const std::string& results, const std::string& call, const std::string& shape,
                            int k) {
      test::ExpectEnginesAgree(
          fmt::format(
              "ENTRY e {{ a = {} parameter(0) q = {} custom-call(a), custom_call_target=\"lapack_{}{}_ffi\", "
              "api_version=API_VERSION_TYPED_FFI, backend_config={{mode = 65 : ui8, uplo = 76 : ui8}} ROOT r "
              "= {} "
              "get-tuple-element(q), index={} }}",
              matrix, results, letter, call, shape, k),
          {.rule = test::UnitsOf(*ParseElementType(type))});
    };
    expect(fmt::format("({}, s32[3])", matrix), "potrf", "s32[3]", 1);
    expect(fmt::format("({}, s32[3,40], s32[3])", matrix), "getrf", "s32[3,40]", 1);
    expect(fmt::format("({}, {})", matrix, list), "geqrf", list, 1);
    expect(fmt::format("({0}, {1}, {0}, {0}, s32[3])", matrix, real), "gesdd", real, 1);
    expect(fmt::format("({}, {}, s32[3])", matrix, real), letter == 'z' ? "heevd" : "syevd", real, 1);
  }
}

// Some targets return workspace, which may be a tuple, or take unsupported shapes.
TEST(Calls, UnsupportedCallsRunOnTheReference) {
  const test::Agreement agreement{.rule = CompareRule::Close(1e-12, 1e-12), .has_kernel = false};
  test::ExpectEnginesAgree(R"(ENTRY e { s = s32[] constant(2) a = f64[3,2] parameter(0)
  ROOT r = (f64[3,2], f64[2], s32[], (f64[200], f64[1])) custom-call(s, s, s, s, a), custom_call_target="lapack_dgeqrf" })",
                           agreement);
  absl::StatusOr<CheckedModule> misfit = test::ReadModule(R"(HloModule t
ENTRY e { one = s32[] constant(1) none = s32[] constant(0) alpha = f64[] constant(1) a = f64[2,2] parameter(0)
  b = f64[30,3] parameter(1)
  ROOT r = f64[30,3] custom-call(one, one, none, none, one, one, one, alpha, a, b), custom_call_target="blas_dtrsm" })");
  ASSERT_TRUE(misfit.ok()) << misfit.status();
  const absl::StatusOr<Literal> result = Execute(*misfit, test::ArgumentsOf(*misfit, {}), Engine::kFast);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("does not solve for"), std::string::npos) << result.status();
}

// --- Batches of small matrices, of which a vector computes several.

TEST(SmallBatches, CholeskyAgreesWithTheReference) {
  for (const char* type : {"f64", "f32"}) {
    for (const int64_t n : {1, 2, 3, 5, 8, 16, 17}) {
      for (const int64_t count : {4, 8, 70}) {
        ExpectAgrees(test::Factors(type, {count, n, n}, n % 2 == 0));
        ExpectAgrees(test::Factors(type, {2, count, n, n}, n % 2 != 0, n / 2));
      }
    }
  }
}

TEST(SmallBatches, PotrfAgreesWithTheReference) {
  for (const char* type : {"f64", "f32"}) {
    for (const int64_t n : {1, 4, 7, 16}) {
      for (const bool lower : {true, false}) {
        for (const int64_t negative_at : {-1L, n - 1}) {
          const std::string shape = fmt::format("{}[70,{},{}]", type, n, n);
          ExpectAgrees(Call(fmt::format("lapack_{}potrf_ffi", LetterOf(type)).c_str(),
                            lower ? "uplo = 76 : ui8" : "uplo = 85 : ui8",
                            fmt::format("({}, s32[70])", shape),
                            test::Factors(type, {70, n, n}, lower, negative_at)));
        }
      }
    }
  }
}

TEST(SmallBatches, TriangularSolve) {
  for (const test::Sides& sides : test::AllSides()) {
    ExpectAgrees(test::Solves("f64", {13}, 7, 6, sides));
    ExpectAgrees(test::Solves("f32", {3, 4}, 16, 32, sides));
    ExpectAgrees(test::Solves("f32", {9}, 3, 1, sides));
    ExpectAgrees(test::Solves("f32", {9}, 3, 200, sides));
  }
}

// Calls getrf on a batch, whose element x becomes value(x, element).
template <class Value>
void ExpectSmallLu(const char* type, int64_t count, int64_t m, int64_t n, Value&& value) {
  test::Program operands;
  operands.arguments = {test::RandomArray(*ParseElementType(type), {count, m, n}, 7)};
  int64_t x = 0;
  test::Change(operands.arguments[0],
               [&](int64_t, int64_t, std::complex<double> element) { return value(x++, element); });
  ExpectAgrees(
      Call(fmt::format("lapack_{}getrf_ffi", LetterOf(type)).c_str(), "",
           fmt::format("({0}[{1},{2},{3}], s32[{1},{4}], s32[{1}])", type, count, m, n, std::min(m, n)),
           operands));
}

TEST(SmallBatches, GetrfAgreesWithTheReference) {
  const std::pair<int64_t, int64_t> sizes[] = {{1, 1}, {2, 2}, {3, 3}, {8, 8}, {16, 16}, {5, 9}, {16, 3}};
  for (const char* type : {"f64", "f32"}) {
    for (const auto& size : sizes) {
      for (const int64_t count : {4, 16, 37}) {
        ExpectSmallLu(type, count, size.first, size.second, [](int64_t, auto element) { return element; });
        // Small integers have equal magnitudes and zero pivots.
        ExpectSmallLu(type, count, size.first, size.second, [](int64_t x, auto) -> std::complex<double> {
          return static_cast<double>(x * x % 7 % 3) - 1;
        });
      }
    }
    ExpectSmallLu(type, 9, 4, 4, [](int64_t x, auto element) -> std::complex<double> {
      return x % 31 == 5 ? std::numeric_limits<double>::quiet_NaN() : x % 16 < 4 ? 0 : element;
    });
  }
}

// A matrix of zeros or with an infinite element does not change its neighbours.
TEST(SmallBatches, MatricesAreIndependent) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  ExpectSmallLu("f32", 12, 3, 3, [](int64_t x, auto element) -> std::complex<double> {
    return x / 9 == 3 ? 0 : x / 9 == 5 ? kInfinity : element;
  });
}

TEST(TriangularSolve, InfinitiesWithAUnitDiagonal) {
  absl::StatusOr<Literal> b = Literal::CreateZeros(Shape::Array(ElementType::kC64, {2, 9}));
  for (std::complex<float>& x : b->mutable_span<std::complex<float>>())
    x = {1, std::numeric_limits<float>::infinity()};
  test::ExpectEnginesAgreeOn(
      "ENTRY e { a = c64[2,2] parameter(0) b = c64[2,9] parameter(1) ROOT r = c64[2,9] triangular-solve(a, "
      "b), "
      "left_side=true, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE }",
      {test::RandomArray(ElementType::kC64, {2, 2}, 5), *std::move(b)});
}

// --- Kernels, against their contracts.

template <class T>
std::vector<T> Random(int64_t count) {
  const ElementType type = std::is_same_v<T, double> ? ElementType::kF64 : ElementType::kC128;
  const Literal array = test::RandomArray(type, {count}, 21);
  return {array.span<T>().begin(), array.span<T>().end()};
}

// Expects |l u - p a| <= n eps |l| |u| element-wise.
template <class T>
void ExpectLu(int64_t m, int64_t n) {
  SCOPED_TRACE(fmt::format("{} x {}", m, n));
  const int64_t pitch = n + 3, k = std::min(m, n);
  const std::vector<T> before = Random<T>(m * pitch);
  std::vector<T> a = before, factors = before;
  std::vector<int64_t> pivots(k);
  const Matrix<T> lu{factors.data(), m, n, pitch, 1};
  ASSERT_EQ(lapack::Lu(lu, absl::MakeSpan(pivots)), 0);
  for (int64_t i = 0; i < k; ++i)
    std::swap_ranges(&a[i * pitch], &a[i * pitch] + pitch, &a[pivots[i] * pitch]);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T sum = 0;
      double size = 0;
      for (int64_t t = 0; t <= std::min({i, j, k - 1}); ++t) {
        const T l = t == i ? T(1) : lu(i, t);
        sum += l * lu(t, j);
        size += std::abs(l * lu(t, j));
        EXPECT_LE(std::abs(l), std::sqrt(2) + 1e-15);
      }
      ASSERT_LE(std::abs(sum - a[i * pitch + j]), 4 * (k + 2) * 0x1p-53 * size) << i << ", " << j;
    }
    // Elements outside the matrix must not change.
    for (int64_t j = n; j < pitch; ++j) ASSERT_EQ(factors[i * pitch + j], before[i * pitch + j]);
  }
}

TEST(Lu, MultipliesToTheMatrix) {
  const int64_t sizes[] = {1, 2, 15, 16, 17, 33, 64, 100};
  for (const int64_t m : sizes) {
    for (const int64_t n : sizes) {
      ExpectLu<double>(m, n);
      if (m < 64 && n < 64) ExpectLu<Complex>(m, n);
    }
  }
}

TEST(Lu, FactorsASingularMatrix) {
  // The first 21 columns have rank 20, because only 20 rows are nonzero.
  std::vector<double> a = Random<double>(40 * 40);
  const Matrix<double> matrix = Matrix<double>::Dense(a.data(), 40, 40);
  for (int64_t i = 0; i < 40; ++i) matrix(i, 20) = i < 20 ? matrix(i, 20) : 0;
  for (int64_t i = 20; i < 40; ++i) {
    for (int64_t j = 0; j < 20; ++j) matrix(i, j) = 0;
  }
  std::vector<int64_t> pivots(40);
  EXPECT_EQ(lapack::Lu(matrix, absl::MakeSpan(pivots)), 21);
}

TEST(Kernels, GiveTheSameBitsWithAnyNumberOfThreads) {
  SetMinParallelNanoseconds(0);
  std::vector<double> results[2];
  for (const int threads : {1, 2}) {
    SetThreadCount(threads);
    const auto note = [&](const std::vector<double>& values) {
      results[threads - 1].insert(results[threads - 1].end(), values.begin(), values.end());
    };
    std::vector<double> elements = Random<double>(300 * 300), b = Random<double>(300 * 200);
    const Matrix<double> a = Matrix<double>::Dense(elements.data(), 300, 300);
    std::vector<int64_t> pivots(300);
    EXPECT_EQ(lapack::Lu(a, absl::MakeSpan(pivots)), 0);
    note(elements);
    lapack::SolveTriangular(lapack::Plain(a), Matrix<double>::Dense(b.data(), 300, 200), {.lower = false});
    note(b);
    for (int64_t i = 0; i < 300; ++i) a(i, i) = 400;
    EXPECT_EQ(lapack::Cholesky(a), 0);
    note(elements);
  }
  SetThreadCount(0);
  SetMinParallelNanoseconds(20'000);
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace hlo::factorisations_test
