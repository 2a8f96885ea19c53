// Tests the custom calls that factor matrices on the emulated GPU against the reference, in one panel and
// several.

#include <string>
#include <vector>

#include "triangular_programs.h"

namespace hlo::cuda_factorisations_test {
namespace {

struct Array {
  std::string type;
  std::vector<int64_t> dims;
  std::string text() const { return test::TextOf(type, dims); }
};

// Runs a call on the parameters, on kernels alone.
void ExpectCall(const std::string& target, const std::vector<Array>& operands,
                const std::vector<Array>& results, const std::string& options, std::vector<Literal> arguments,
                double bound) {
  std::string text = "HloModule t\nENTRY e { ", names, shapes;
  for (size_t k = 0; k < operands.size(); ++k) {
    text += fmt::format("p{0} = {1} parameter({0}) ", k, operands[k].text());
    names += fmt::format("{}p{}", k > 0 ? ", " : "", k);
  }
  for (const Array& result : results) shapes += (shapes.empty() ? "" : ", ") + result.text();
  if (results.size() > 1) shapes = "(" + shapes + ")";
  text += fmt::format("ROOT r = {} custom-call({}), custom_call_target=\"{}\", backend_config={{{}}} }}",
                      shapes, names, target, options);
  SCOPED_TRACE(text);
  const absl::StatusOr<CheckedModule> module = test::ReadModule(text);
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<Literal> want = Execute(*module, arguments, Engine::kReference);
  ASSERT_TRUE(want.ok()) << want.status();
  absl::StatusOr<Executable> executable =
      Executable::Make(*module, Engine::kFast, {}, {Device::Kind::kEmulatedGpu, 2});
  ASSERT_TRUE(executable.ok()) << executable.status();
  const absl::StatusOr<Literal> got = executable->Run(std::move(arguments), {});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(executable->fallbacks().empty());
  const std::vector<LiteralLeaf> expected = ArrayLeaves(*want), actual = ArrayLeaves(*got);
  for (size_t k = 0; k < expected.size(); ++k) {
    const CompareReport report =
        CompareArrays(*actual[k].value, *expected[k].value, CompareRule::Close(bound, bound));
    EXPECT_TRUE(report.ok()) << "result " << k << "\n" << ToString(report, 3);
  }
}

Literal Random(const Array& array, uint32_t seed) {
  return test::RandomArray(*ParseElementType(array.type), array.dims, seed);
}

// Panels have 64 columns in f64 and 32 in c128; those of reflectors have 32.
struct Form {
  const char* type;
  int64_t rows, columns;
};
constexpr Form kForms[] = {{"f64", 1, 1},   {"f64", 5, 3}, {"f64", 3, 5},   {"f64", 35, 33},
                           {"f64", 66, 68}, {"f32", 6, 4}, {"c128", 35, 33}};

double BoundOf(const std::string& type) { return type == "f64" || type == "c128" ? 1e-10 : 1e-5; }
std::string Letter(const std::string& type) {
  return type == "f32" ? "s" : type == "f64" ? "d" : type == "c64" ? "c" : "z";
}

TEST(CudaFactorisations, LuAgreesWithTheReference) {
  for (const auto& [type, m, n] : kForms) {
    const Array a{type, {2, m, n}};
    ExpectCall(fmt::format("lapack_{}getrf_ffi", Letter(type)), {a},
               {a, {"s32", {2, std::min(m, n)}}, {"s32", {2}}}, "", {Random(a, 7)}, BoundOf(type));
  }
}

TEST(CudaFactorisations, LuOfASingularMatrix) {
  const Array a{"f64", {70, 70}};
  Literal matrix = Random(a, 7);
  test::Change(matrix, [](int64_t, int64_t j, std::complex<double> v) { return j == 1 || j == 66 ? 0 : v; });
  ExpectCall("lapack_dgetrf_ffi", {a}, {a, {"s32", {70}}, {"s32", {}}}, "", {matrix}, 1e-10);
}

TEST(CudaFactorisations, QrAgreesWithTheReference) {
  for (const auto& [type, m, n] : kForms) {
    if (m > 64) continue;
    const Array a{type, {2, m, n}}, taus{type, {2, std::min(m, n)}};
    ExpectCall(fmt::format("lapack_{}geqrf_ffi", Letter(type)), {a}, {a, taus}, "", {Random(a, 8)},
               BoundOf(type));
  }
}

TEST(CudaFactorisations, TinyAndHugeColumnsOfQr) {
  const Array a{"f64", {40, 3}}, taus{"f64", {3}};
  Literal matrix = Random(a, 9);
  test::Change(matrix, [](int64_t i, int64_t j, std::complex<double> v) {
    return j == 0 ? (i == 0 ? v : 0) : v * (j == 1 ? 1e-200 : 1e180);
  });
  ExpectCall("lapack_dgeqrf_ffi", {a}, {a, taus}, "", {matrix}, 1e-10);
}

// Returns reflectors and their factors tau, which geqrf has computed.
std::vector<Literal> Reflectors(const Array& a, const Array& taus) {
  const absl::StatusOr<CheckedModule> module = test::ReadModule(
      fmt::format("HloModule t\nENTRY e {{ a = {0} parameter(0) ROOT r = ({0}, {1}) custom-call(a), "
                  "custom_call_target=\"lapack_{2}geqrf_ffi\" }}",
                  a.text(), taus.text(), Letter(a.type)));
  HLO_CHECK(module.ok());
  const absl::StatusOr<Literal> factored = Execute(*module, {Random(a, 3)}, Engine::kReference);
  HLO_CHECK(factored.ok());
  return {factored->element(0), factored->element(1)};
}

TEST(CudaFactorisations, ProductsOfReflectors) {
  for (const auto& [type, m, n] : kForms) {
    if (m < n) continue;
    const std::string name = IsComplex(*ParseElementType(type)) ? "un" : "or";
    const Array a{type, {m, n}}, taus{type, {n}};
    const std::vector<Literal> factors = Reflectors(a, taus);
    ExpectCall(fmt::format("lapack_{}{}gqr_ffi", Letter(type), name), {a, taus}, {a}, "", factors,
               BoundOf(type));
    for (const bool left : {true, false}) {
      const Array c{type, left ? std::vector<int64_t>{m, 37} : std::vector<int64_t>{37, m}};
      for (const char* transpose : {"true", "false"}) {
        ExpectCall(fmt::format("lapack_{}{}mqr_ffi", Letter(type), name), {a, taus, c}, {c},
                   fmt::format("left = {}, transpose = {}", left, transpose),
                   {factors[0], factors[1], Random(c, 5)}, BoundOf(type));
      }
    }
  }
}

TEST(CudaFactorisations, CholeskyKeepsTheOtherTriangleAndStopsAtAMinor) {
  for (const std::string type : {"f64", "c64"}) {
    const int64_t n = type == "f64" ? 68 : 36;
    for (const bool lower : {true, false}) {
      for (const int64_t negative_at : {-1, 0, 34}) {
        const Array a{type, {2, n, n}};
        const Literal matrix = test::Factors(type, a.dims, lower, negative_at).arguments[0];
        ExpectCall(fmt::format("lapack_{}potrf_ffi", Letter(type)), {a}, {a, {"s32", {2}}},
                   fmt::format("uplo = {} : ui8", lower ? 76 : 85), {matrix}, BoundOf(type));
      }
    }
  }
}

TEST(CudaFactorisations, TriangularSystems) {
  for (const std::string type : {"f64", "c128"}) {
    for (const bool left : {true, false}) {
      for (const char op : {'N', 'T', 'C'}) {
        const test::Program program = test::Solves(type, {2}, 70, 5, {left, true, false, "NO_TRANSPOSE"});
        const Array a{type, {2, 70, 70}};
        const Array b{type, left ? std::vector<int64_t>{2, 70, 5} : std::vector<int64_t>{2, 5, 70}};
        ExpectCall(fmt::format("lapack_{}trsm_ffi", Letter(type)), {a, b}, {b},
                   fmt::format("side = {} : ui8, uplo = 76 : ui8, trans_x = {} : ui8, diag = 78 : ui8",
                               left ? 76 : 82, static_cast<int>(op)),
                   program.arguments, BoundOf(type));
      }
    }
  }
}

}  // namespace
}  // namespace hlo::cuda_factorisations_test
