// Tests factorisations by single reflectors, tridiagonal systems, and permutations on GPUs against the
// reference.

#include <complex>
#include <string>
#include <vector>

#include "as_reference.h"
#include "fmt/format.h"
#include "plan/gpu/select_kernel.h"

namespace hlo::gpu_lapack_test {
namespace {

struct Type {
  const char *name, *real;
  char letter;
  bool is_complex, is_single;
};
constexpr Type kTypes[] = {{"f64", "f64", 'd', false, false},
                           {"f32", "f32", 's', false, true},
                           {"c128", "f64", 'z', true, false},
                           {"c64", "f32", 'c', true, true}};

CompareRule RuleOf(const Type& type) {
  const double bound = type.is_single ? 2e-5 : 1e-12;
  return CompareRule::Close(bound, bound);
}

Literal Random(const Type& type, std::vector<int64_t> dims, uint32_t seed) {
  Literal literal = *Literal::Create(Shape::Array(*ParseElementType(type.name), std::move(dims)));
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const auto fill = [&]<class T>(absl::Span<T> elements) {
    for (T& x : elements) {
      const double real = normal(random);
      if constexpr (std::is_floating_point_v<T>)
        x = static_cast<T>(real);
      else
        x = T(static_cast<typename T::value_type>(real), static_cast<typename T::value_type>(normal(random)));
    }
  };
  if (type.is_complex && type.is_single) fill(literal.mutable_span<std::complex<float>>());
  if (type.is_complex && !type.is_single) fill(literal.mutable_span<std::complex<double>>());
  if (!type.is_complex && type.is_single) fill(literal.mutable_span<float>());
  if (!type.is_complex && !type.is_single) fill(literal.mutable_span<double>());
  return literal;
}

Literal Integers(std::vector<int64_t> dims, const std::vector<int32_t>& values) {
  Literal literal = *Literal::Create(Shape::Array(ElementType::kS32, std::move(dims)));
  std::copy(values.begin(), values.end(), literal.mutable_span<int32_t>().begin());
  return literal;
}

// A call whose operands are parameters with the shapes of the arguments.
void ExpectCall(const std::string& target, const std::string& results, const std::string& config,
                const std::vector<Literal>& arguments, const CompareRule& rule) {
  std::string text = "HloModule t\nENTRY e { ", names;
  for (size_t k = 0; k < arguments.size(); ++k) {
    text += fmt::format("p{0} = {1} parameter({0}) ", k, ToString(arguments[k].shape()));
    names += fmt::format("{}p{}", k > 0 ? ", " : "", k);
  }
  text += fmt::format("ROOT r = {} custom-call({}), custom_call_target=\"{}\", backend_config={} }}", results,
                      names, target, config);
  ExpectAsReference(text, arguments, rule);
}

TEST(GpuLapack, PivotedQr) {
  for (const Type& type : kTypes) {
    for (const auto& [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {6, 4}, {4, 6}, {5, 34}}) {
      const int64_t k = std::min(m, n);
      const std::string results = fmt::format("({0}[2,{1},{2}], s32[2,{2}], {0}[2,{3}])", type.name, m, n, k);
      const std::string target = fmt::format("lapack_{}geqp3_ffi", type.letter);
      std::vector<int32_t> given(2 * n);
      ExpectCall(target, results, "{}", {Random(type, {2, m, n}, 3), Integers({2, n}, given)}, RuleOf(type));
      given[n - 1] = given[n + n / 2] = 1;  // These columns move to the front.
      ExpectCall(target, results, "{}", {Random(type, {2, m, n}, 4), Integers({2, n}, given)}, RuleOf(type));
    }
  }
}

TEST(GpuLapack, HessenbergForm) {
  for (const Type& type : kTypes) {
    for (const int64_t n : {1, 2, 7, 35}) {
      if (n > 32 && type.is_single) continue;
      const std::string results = fmt::format("({0}[2,{1},{1}], {0}[2,{2}], s32[2])", type.name, n, n - 1);
      const auto expect = [&](int64_t low, int64_t high) {
        ExpectCall(fmt::format("lapack_{}gehrd_ffi", type.letter), results,
                   fmt::format("{{low = {} : i32, high = {} : i32}}", low, high),
                   {Random(type, {2, n, n}, 5)}, RuleOf(type));
      };
      expect(1, n);
      if (n == 7) expect(2, 5);
    }
  }
}

TEST(GpuLapack, TridiagonalForm) {
  for (const Type& type : kTypes) {
    for (const int64_t n : {1, 2, 6, 34}) {
      if (n > 32 && type.is_single) continue;
      for (const bool lower : {true, false}) {
        ExpectCall(fmt::format("lapack_{}{}trd_ffi", type.letter, type.is_complex ? "he" : "sy"),
                   fmt::format("({0}[2,{1},{1}], {3}[2,{1}], {3}[2,{2}], {0}[2,{2}], s32[2])", type.name, n,
                               n - 1, type.real),
                   fmt::format("{{uplo = {} : ui8}}", lower ? 76 : 85), {Random(type, {2, n, n}, 6)},
                   RuleOf(type));
      }
    }
  }
}

TEST(GpuLapack, TridiagonalSystems) {
  for (const Type& type : kTypes) {
    for (const int64_t n : {1, 2, 3, 20}) {
      for (const int64_t columns : {1, 70}) {
        const std::string line = fmt::format("{}[3,{}]", type.name, n);
        std::vector<Literal> arguments;
        for (uint32_t k = 0; k < 3; ++k) arguments.push_back(Random(type, {3, n}, k));
        arguments.push_back(Random(type, {3, n, columns}, 7));
        ExpectCall(fmt::format("lapack_{}gtsv_ffi", type.letter),
                   fmt::format("({0}, {0}, {0}, {1}[3,{2},{3}], s32[3])", line, type.name, n, columns), "{}",
                   arguments,
                   CompareRule::Close(type.is_single ? 1e-4 : 1e-11, type.is_single ? 1e-4 : 1e-11));
        ExpectCall("cusparse_gtsv2_ffi", fmt::format("{}[3,{},{}]", type.name, n, columns), "{}", arguments,
                   CompareRule::Close(type.is_single ? 1e-4 : 1e-11, type.is_single ? 1e-4 : 1e-11));
      }
    }
  }
}

// The second system has no pivot in its third row; the others are solved.
TEST(GpuLapack, ASingularTridiagonalSystem) {
  const Type& type = kTypes[0];
  std::vector<Literal> arguments;
  for (uint32_t k = 0; k < 3; ++k) arguments.push_back(Random(type, {2, 4}, k));
  arguments.push_back(Random(type, {2, 4, 2}, 7));
  const auto set = [&](int array, int64_t at, double value) {
    arguments[array].mutable_span<double>()[4 + at] = value;
  };
  for (int64_t i = 0; i < 4; ++i) {
    set(0, i, 0);
    set(1, i, i == 2 ? 0 : 1);
  }
  ExpectCall("lapack_dgtsv_ffi", "(f64[2,4], f64[2,4], f64[2,4], f64[2,4,2], s32[2])", "{}", arguments,
             RuleOf(type));
  ExpectCall("hipsparse_gtsv2_ffi", "f64[2,4,2]", "{}", arguments, RuleOf(type));
}

TEST(GpuLapack, LuDecompositionAndPermutations) {
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {3, 5}, {34, 34}}) {
    ExpectCall("LuDecomposition",
               fmt::format("(f32[2,{0},{1}], s32[2,{2}], s32[2,{0}])", m, n, std::min(m, n)), "\"\"",
               {Random(kTypes[1], {2, m, n}, 3)}, RuleOf(kTypes[1]));
  }
  // Pivots outside the rows are ignored.
  ExpectCall("cu_lu_pivots_to_permutation", "s32[2,5]", "{permutation_size = 5 : i32}",
             {Integers({2, 3}, {4, 1, 2, -1, 7, 3})}, CompareRule::Exact());
}

TEST(GpuLapack, ScaledTriangularSystems) {
  for (const Type& type : kTypes) {
    for (const bool left : {true, false}) {
      const std::string b = fmt::format("{}[2,{},{}]", type.name, left ? 4 : 3, left ? 3 : 4);
      const std::string text = fmt::format(
          "HloModule t\nENTRY e {{ a = {0}[2,4,4] parameter(0) b = {1} parameter(1) x = {0}[] parameter(2) "
          "left = s32[] constant({2}) one = s32[] constant(1) ROOT r = {1} custom-call(left, one, one, one, "
          "one, one, one, x, a, b), custom_call_target=\"blas_{3}trsm\" }}",
          type.name, b, left ? 1 : 0, type.letter);
      const Literal right_sides =
          Random(type, left ? std::vector<int64_t>{2, 4, 3} : std::vector<int64_t>{2, 3, 4}, 2);
      ExpectAsReference(text, {Random(type, {2, 4, 4}, 1), right_sides, Random(type, {}, 3)}, RuleOf(type));
    }
  }
}

TEST(GpuLapack, TriangularSystemsWithWorkspace) {
  ExpectCall("__cublas$triangularSolve", "(f64[2,4,3], s8[64])",
             "\"{\\\"left_side\\\":true,\\\"lower\\\":true,\\\"unit_diagonal\\\":true,"
             "\\\"transpose_a\\\":\\\"TRANSPOSE\\\"}\"",
             {Random(kTypes[0], {2, 4, 4}, 1), Random(kTypes[0], {2, 4, 3}, 2)}, RuleOf(kTypes[0]));
}

// Returns true if the last instruction of the entry has a kernel.
bool HasKernel(const std::string& entry, bool limits_kernel_time = false) {
  const CheckedModule module = Load("ENTRY e { " + entry + " }");
  device::DeviceProperties device = OpenTestGpu(TestDevices()[0])->properties();
  device.multiprocessors = 4;
  device.limits_kernel_time = limits_kernel_time;
  return plan::FindGpuKernel(*module.module().entry()->root(), device).has_value();
}

TEST(GpuLapack, LongLaunchesNeedGpusWithoutALimitOfTime) {
  const auto has_hessenberg = [](int64_t n, bool limits_kernel_time) {
    return HasKernel(fmt::format("a = f64[{0},{0}] parameter(0) ROOT r = (f64[{0},{0}], f64[{1}], s32[]) "
                                 "custom-call(a), custom_call_target=\"lapack_dgehrd_ffi\", "
                                 "backend_config={{low = 1 : i32, high = {0} : i32}}",
                                 n, n - 1),
                     limits_kernel_time);
  };
  EXPECT_TRUE(has_hessenberg(200, true));
  EXPECT_TRUE(has_hessenberg(2000, false));
  EXPECT_FALSE(has_hessenberg(2000, true));
}

TEST(GpuLapack, NumbersOfElementsOfPanelsFit32Bits) {
  const auto has_lu = [](int64_t rows) {
    return HasKernel(
        fmt::format("a = f64[{0},2] parameter(0) ROOT r = (f64[{0},2], s32[2], s32[]) "
                    "custom-call(a), custom_call_target=\"lapack_dgetrf_ffi\", backend_config={{}}",
                    rows));
  };
  constexpr int64_t kFirstTooLarge = int64_t{1} << 26;
  EXPECT_TRUE(has_lu(kFirstTooLarge - 1));
  EXPECT_FALSE(has_lu(kFirstTooLarge));
}

TEST(GpuLapack, SizesOfMatricesFit31Bits) {
  const auto has_solve = [](int64_t columns) {
    return HasKernel(
        fmt::format("a = f32[1,1] parameter(0) b = f32[1,{0}] parameter(1) ROOT x = f32[1,{0}] "
                    "triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=false, "
                    "transpose_a=NO_TRANSPOSE",
                    columns));
  };
  constexpr int64_t kFirstTooLarge = int64_t{1} << 31;
  EXPECT_TRUE(has_solve(kFirstTooLarge - 1));
  EXPECT_FALSE(has_solve(kFirstTooLarge));
}

}  // namespace
}  // namespace hlo::gpu_lapack_test
