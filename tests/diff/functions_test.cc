// Tests transcendental functions of the fast engine against the reference, by their distance in ULP.

#include <bit>
#include <cmath>
#include <map>
#include <random>

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "hlo_run/execute.h"
#include "hlo_run/parse.h"

namespace hlo::functions_test {
namespace {

struct Bounds {
  int64_t most_f32 = 1, most_f64 = 1;
};

// The maximum distance from the reference in ULP, as measured with AVX2 and AVX-512, of the functions that
// have vector versions. README.md promises 4 for all. The others are the reference's functions, whose results
// are rounded once more.
Bounds BoundsOf(std::string_view opcode) {
  static const std::map<std::string_view, Bounds> kVectorised = {
      {"acos", {2, 2}},
      {"acosh", {2, 2}},
      {"asin", {2, 2}},
      {"asinh", {2, 3}},
      {"atan2", {2, 2}},
      {"atanh", {2, 2}},
      {"cbrt", {1, 2}},
      {"cosine", {2, 3}},
      {"cosh", {2, 2}},
      {"erf", {2, 2}},
      {"exp2", {2, 2}},
      {"exponential", {2, 2}},
      {"exponential-minus-one", {2, 2}},
      {"log", {1, 2}},
      {"log-plus-one", {2, 2}},
      {"log2", {2, 2}},
      {"logistic", {2, 4}},
      {"power", {1, 2}},
      {"rsqrt", {1, 2}},
      {"sine", {2, 3}},
      {"sinh", {2, 3}},
      {"sqrt", {0, 0}},
      {"tan", {3, 3}},
      {"tanh", {2, 3}},
  };
  const auto found = kVectorised.find(opcode);
  return found == kVectorised.end() ? Bounds{} : found->second;
}

struct Row {
  const char* opcode;
  int operand_count;
};
constexpr Row kTable[] = {
#define HLO_FUNCTION_OP(name, text, operands, ...) {text, operands},
#include "hlo_run/opcodes.def"
};

template <class T>
int64_t UlpsApart(T a, T b) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<int64_t>::max();
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  const auto place = [](T x) {
    const Bits bits = std::bit_cast<Bits>(x);
    return static_cast<int64_t>(bits < 0 ? std::numeric_limits<Bits>::min() - bits : bits);
  };
  const int64_t x = place(a), y = place(b);
  return x > y ? x - y : y - x;
}

// Returns numbers of all magnitudes, small ones of both signs, and special values.
template <class T>
std::vector<T> Samples() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> samples = {0,
                            -T{0},
                            1,
                            -1,
                            Limits::infinity(),
                            -Limits::infinity(),
                            Limits::quiet_NaN(),
                            Limits::max(),
                            Limits::lowest(),
                            Limits::min(),
                            Limits::denorm_min(),
                            -Limits::denorm_min(),
                            Limits::epsilon(),
                            T{0.5},
                            T{-0.5}};
  std::mt19937_64 random(1);
  std::uniform_real_distribution<T> near(-4, 4), wide(-100, 100), unit(-1, 1);
  for (int i = 0; i < 3000; ++i) {
    samples.push_back(near(random));
    samples.push_back(wide(random));
    samples.push_back(unit(random));
    samples.push_back(std::ldexp(unit(random), static_cast<int>(random() % 200) - 100));
  }
  return samples;
}

absl::StatusOr<CheckedModule> Read(const std::string& text) {
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(std::make_shared<SourceText>("t.hlo", text), diagnostics);
  if (module == nullptr) return absl::InvalidArgumentError(text);
  return Check(std::move(module), diagnostics);
}

template <class T>
void Compare(const std::string& opcode, int operand_count, const char* type, int64_t most_ulps) {
  std::vector<T> a = Samples<T>(), b = a;
  std::shuffle(b.begin(), b.end(), std::mt19937_64(2));
  const int64_t n = static_cast<int64_t>(a.size());
  const std::string shape = fmt::format("{}[{}]", type, n);
  const std::string text = fmt::format(
      "HloModule t\nENTRY e {{\n  a = {0} parameter(0)\n  b = {0} parameter(1)\n  ROOT r = {0} "
      "{1}(a{2})\n}}\n",
      shape, opcode, operand_count == 2 ? ", b" : "");
  absl::StatusOr<CheckedModule> module = Read(text);
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<Literal> arguments;
  for (const std::vector<T>& values : {a, b}) {
    absl::StatusOr<Literal> literal = Literal::Create(module->module().entry()->parameter(0)->shape());
    ASSERT_TRUE(literal.ok());
    std::copy(values.begin(), values.end(), literal->mutable_span<T>().begin());
    arguments.push_back(*std::move(literal));
  }
  const absl::StatusOr<Literal> want = Execute(*module, arguments, Engine::kReference);
  const absl::StatusOr<Literal> got = Execute(*module, arguments, Engine::kFast);
  ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
  int64_t worst = 0, at = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t apart = UlpsApart(got->span<T>()[i], want->span<T>()[i]);
    if (apart > worst) {
      worst = apart;
      at = i;
    }
  }
  ::testing::Test::RecordProperty(opcode + "_" + type, std::to_string(worst));
  EXPECT_LE(worst, most_ulps) << opcode << " of " << a[at]
                              << (operand_count == 2 ? fmt::format(" and {}", b[at]) : "") << " is "
                              << got->span<T>()[at] << " rather than " << want->span<T>()[at];
}

class Functions : public testing::TestWithParam<Row> {};

TEST_P(Functions, AreWithinTheirUlpsOfTheReference) {
  const Row& row = GetParam();
  const Bounds bounds = BoundsOf(row.opcode);
  Compare<float>(row.opcode, row.operand_count, "f32", bounds.most_f32);
  Compare<double>(row.opcode, row.operand_count, "f64", bounds.most_f64);
}

INSTANTIATE_TEST_SUITE_P(All, Functions, testing::ValuesIn(kTable));

}  // namespace
}  // namespace hlo::functions_test
