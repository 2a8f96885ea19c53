// Transcendental functions of the fast engine against the reference: how many representable numbers apart?

#include <bit>
#include <cmath>
#include <map>
#include <random>

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "hlo_run/execute.h"
#include "hlo_run/parse.h"

namespace hlo {
namespace {

// The most that README.md promises.
constexpr int64_t kMostUlps = 4;

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

// Numbers of all magnitudes, small ones of both signs, and what is special.
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
void Compare(const std::string& opcode, int operand_count, const char* type) {
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
  EXPECT_LE(worst, kMostUlps) << opcode << " of " << a[at]
                              << (operand_count == 2 ? fmt::format(" and {}", b[at]) : "") << " is "
                              << got->span<T>()[at] << " rather than " << want->span<T>()[at];
}

class Functions : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(Functions, AreWithinAFewUlpsOfTheReference) {
  const auto [opcode, operand_count] = GetParam();
  Compare<float>(opcode, operand_count, "f32");
  Compare<double>(opcode, operand_count, "f64");
}

INSTANTIATE_TEST_SUITE_P(All, Functions,
                         testing::Values(std::pair("acos", 1), std::pair("acosh", 1), std::pair("asin", 1),
                                         std::pair("asinh", 1), std::pair("atanh", 1), std::pair("atan2", 2),
                                         std::pair("cbrt", 1), std::pair("cosine", 1), std::pair("cosh", 1),
                                         std::pair("erf", 1), std::pair("exponential", 1),
                                         std::pair("exponential-minus-one", 1), std::pair("exp2", 1),
                                         std::pair("log", 1), std::pair("log-plus-one", 1),
                                         std::pair("log2", 1), std::pair("logistic", 1),
                                         std::pair("power", 2), std::pair("rsqrt", 1), std::pair("sine", 1),
                                         std::pair("sinh", 1), std::pair("sqrt", 1), std::pair("tan", 1),
                                         std::pair("tanh", 1)));

}  // namespace
}  // namespace hlo
