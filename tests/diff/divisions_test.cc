// Tests quotients and remainders of the fast engine against the C library and 128-bit integers, which are
// exact.

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "engines.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "hlo_run/execute.h"

namespace hlo::divisions_test {
namespace {

template <class T>
constexpr const char* kName = nullptr;
template <>
constexpr const char* kName<float> = "f32";
template <>
constexpr const char* kName<double> = "f64";
template <>
constexpr const char* kName<int64_t> = "s64";
template <>
constexpr const char* kName<uint64_t> = "u64";

using Random = std::mt19937_64;

// Returns `opcode` of x and y, as the fast engine computes it.
template <class T>
std::vector<T> Evaluate(const char* opcode, const std::vector<T>& x, const std::vector<T>& y) {
  const std::string text = fmt::format(
      "HloModule t\nENTRY e {{\n  a = {0} parameter(0)\n  b = {0} parameter(1)\n  ROOT r = {0} {1}(a, "
      "b)\n}}\n",
      fmt::format("{}[{}]", kName<T>, x.size()), opcode);
  const absl::StatusOr<CheckedModule> module = test::ReadModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  std::vector<Literal> arguments;
  for (const std::vector<T>& values : {x, y}) {
    absl::StatusOr<Literal> literal = Literal::Create(module->module().entry()->parameter(0)->shape());
    EXPECT_TRUE(literal.ok());
    std::copy(values.begin(), values.end(), literal->template mutable_span<T>().begin());
    arguments.push_back(*std::move(literal));
  }
  const absl::StatusOr<Literal> result = Execute(*module, arguments, Engine::kFast);
  EXPECT_TRUE(result.ok()) << result.status();
  return {result->template span<T>().begin(), result->template span<T>().end()};
}

// Returns a number of any magnitude, a small integer or a special value.
template <class T>
T AnyFloat(Random& random) {
  using Limits = std::numeric_limits<T>;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr T kSpecial[] = {0, -T{0}, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                            1, -1,    Limits::max(),      Limits::min(),       Limits::denorm_min()};
  switch (random() % 8) {
    case 0:
      return std::bit_cast<T>(static_cast<Bits>(random()));
    case 1:
      return kSpecial[random() % std::size(kSpecial)];
    case 2:
      return std::ldexp(T{1} + static_cast<T>(random() % 1024) / 1024, static_cast<int>(random() % 60) - 30);
    default:
      return static_cast<T>(static_cast<int>(random() % 200) - 100) / static_cast<T>(1 + random() % 9);
  }
}

template <class T>
void CompareFloats(size_t count, bool only_finite, Random& random) {
  std::vector<T> x(count), y(count);
  for (size_t i = 0; i < count; ++i) {
    do {
      y[i] = AnyFloat<T>(random);
      // A neighbour of a multiple has a quotient that rounds to the wrong integer.
      const T multiple = static_cast<T>(random() % 100000) * y[i];
      x[i] = random() % 2 == 0 ? AnyFloat<T>(random)
                               : std::nextafter(multiple, random() % 2 == 0 ? T{0} : 2 * multiple);
    } while (only_finite && !(std::abs(x[i] / y[i]) < 1e6));
  }
  const std::vector<T> remainders = Evaluate("remainder", x, y);
  ASSERT_EQ(remainders.size(), count);
  for (size_t i = 0; i < count; ++i) {
    const T want = std::fmod(x[i], y[i]), got = remainders[i];
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(got)) << x[i] << " by " << y[i] << ": " << got;
    else
      EXPECT_TRUE(got == want && std::signbit(got) == std::signbit(want))
          << x[i] << " by " << y[i] << ": " << got << ", not " << want;
  }
}

template <class T>
T AnyInteger(bool is_small, Random& random) {
  constexpr int64_t kLimit = int64_t{1} << 52;
  constexpr int64_t kSpecial[] = {0, 1, -1, std::numeric_limits<int64_t>::min(), kLimit, kLimit - 1, -kLimit};
  const int shift = is_small ? 12 + static_cast<int>(random() % 52) : static_cast<int>(random() % 64);
  if (!is_small && random() % 8 == 0) return static_cast<T>(kSpecial[random() % std::size(kSpecial)]);
  const uint64_t magnitude = random() >> shift;
  return static_cast<T>(std::is_signed_v<T> && random() % 2 == 0 ? 0 - magnitude : magnitude);
}

template <class T>
void CompareIntegers(size_t count, bool is_small, Random& random) {
  std::vector<T> x(count), y(count);
  for (size_t i = 0; i < count; ++i) {
    x[i] = AnyInteger<T>(is_small, random);
    do y[i] = AnyInteger<T>(is_small, random);
    while (is_small && y[i] == 0);
  }
  const std::vector<T> quotients = Evaluate("divide", x, y), remainders = Evaluate("remainder", x, y);
  ASSERT_EQ(quotients.size(), count);
  ASSERT_EQ(remainders.size(), count);
  for (size_t i = 0; i < count; ++i) {
    const __int128 a = x[i], b = y[i];
    EXPECT_EQ(quotients[i], static_cast<T>(b == 0 ? -1 : a / b)) << x[i] << " by " << y[i];
    EXPECT_EQ(remainders[i], static_cast<T>(b == 0 ? a : a % b)) << x[i] << " by " << y[i];
  }
}

class Divisions : public testing::TestWithParam<size_t> {};

TEST_P(Divisions, OfFloatsAreExact) {
  Random random(GetParam());
  for (const bool only_finite : {false, true}) {
    CompareFloats<float>(GetParam(), only_finite, random);
    CompareFloats<double>(GetParam(), only_finite, random);
  }
}

TEST_P(Divisions, OfWideIntegersAreExact) {
  Random random(GetParam());
  for (const bool is_small : {false, true}) {
    CompareIntegers<int64_t>(GetParam(), is_small, random);
    CompareIntegers<uint64_t>(GetParam(), is_small, random);
  }
}

// Vectors, parts of them, and arrays that are worth machine code.
INSTANTIATE_TEST_SUITE_P(Counts, Divisions, testing::Values(1, 2, 7, 8, 9, 15, 16, 17, 31, 300, 20000));

}  // namespace
}  // namespace hlo::divisions_test
