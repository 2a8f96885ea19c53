// Tests conversions of every value of every type of up to 16 bits to every real type, and arithmetic of all
// pairs of values of floats of up to 8 bits and integers of up to 4. The hashes of the results come from
// make_narrow_hashes.py.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "hlo_run/parse.h"
#include "hlo_run/run.h"
#include "types/wide.h"

namespace hlo::narrow_test {
namespace {

absl::StatusOr<Literal> Run(const std::string& text, std::vector<Literal> arguments) {
  const auto source = std::make_shared<SourceText>("m.hlo", text);
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(source, diagnostics);
  if (module == nullptr) return diagnostics.ToStatus(*source);
  const absl::StatusOr<CheckedModule> checked = Check(std::move(module), diagnostics);
  if (!checked.ok()) return checked.status();
  return Evaluate(*checked, std::move(arguments));
}

int64_t CodeCount(ElementType type) { return int64_t{1} << BitWidth(type); }

// Returns the codes of the type, each repeated `each` times, and the sequence repeated `times` times.
Literal Codes(ElementType type, int64_t each, int64_t times) {
  const int64_t count = CodeCount(type);
  Literal literal = *Literal::Create(Shape::Array(type, {count * each * times}));
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const int64_t code = i / each % count;
    const int64_t kept = IsSigned(type) ? SignExtend(code, BitWidth(type)) : code;
    std::memcpy(literal.mutable_data() + i * ByteCount(type), &kept, static_cast<size_t>(ByteCount(type)));
  }
  return literal;
}

std::vector<double> Values(const Literal& literal) {
  std::vector<double> values;
  DispatchWide(literal.type(), [&]<class W>() {
    const LoadFn<W> load = Loader<W>(literal.type());
    for (int64_t i = 0; i < literal.element_count(); ++i)
      values.push_back(std::real(load(literal.data(), i)));
  });
  return values;
}

bool HasNoNan(ElementType type) {
  return type == ElementType::kF4E2M1FN || type == ElementType::kF6E2M3FN || type == ElementType::kF6E3M2FN;
}

// Computes FNV-1a, with every NaN as all ones. Ignores the sign of zeros that replace a NaN.
uint64_t Hash(const Literal& literal, const std::vector<bool>& was_nan) {
  const std::vector<double> values = Values(literal);
  const int64_t width = ByteCount(literal.type());
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < values.size(); ++i) {
    for (int64_t b = 0; b < width; ++b) {
      auto byte = static_cast<uint64_t>(literal.data()[static_cast<int64_t>(i) * width + b]);
      if (std::isnan(values[i])) byte = 0xff;
      if (HasNoNan(literal.type()) && was_nan[i] && values[i] == 0) byte = 0;
      hash = (hash ^ byte) * 0x100000001b3u;
    }
  }
  return hash;
}

void ExpectConverts(const std::string& from, const std::string& to, uint64_t want) {
  const Literal codes = Codes(*ParseElementType(from), 1, 1);
  const int64_t n = codes.element_count();
  const absl::StatusOr<Literal> result =
      Run(fmt::format("HloModule m\nENTRY e {{ a = {0}[{2}] parameter(0)\n ROOT r = {1}[{2}] convert(a) }}",
                      from, to, n),
          {codes});
  ASSERT_TRUE(result.ok()) << from << " to " << to << ": " << result.status();
  std::vector<bool> was_nan;
  for (double value : Values(codes)) was_nan.push_back(std::isnan(value));
  EXPECT_EQ(Hash(*result, was_nan), want) << from << " to " << to;
}

void ExpectPairs(const std::string& op, const std::string& name, uint64_t want) {
  const ElementType type = *ParseElementType(name);
  const int64_t n = CodeCount(type);
  const Literal a = Codes(type, n, 1), b = Codes(type, 1, n);
  const absl::StatusOr<Literal> result =
      Run(fmt::format("HloModule m\nENTRY e {{ a = {1}[{2}] parameter(0)\n b = {1}[{2}] parameter(1)\n"
                      " ROOT r = {1}[{2}] {0}(a, b) }}",
                      op, name, n * n),
          {a, b});
  ASSERT_TRUE(result.ok()) << op << " of " << name << ": " << result.status();
  const std::vector<double> x = Values(a), y = Values(b);
  std::vector<bool> was_nan;
  for (size_t i = 0; i < x.size(); ++i)
    was_nan.push_back(y[i] == 0 && (op == "remainder" || (op == "divide" && x[i] == 0)));
  EXPECT_EQ(Hash(*result, was_nan), want) << op << " of " << name;
}

void ExpectUnary(const std::string& op, const std::string& name, uint64_t want) {
  const Literal codes = Codes(*ParseElementType(name), 1, 1);
  const absl::StatusOr<Literal> result =
      Run(fmt::format("HloModule m\nENTRY e {{ a = {1}[{2}] parameter(0)\n ROOT r = {1}[{2}] {0}(a) }}", op,
                      name, codes.element_count()),
          {codes});
  ASSERT_TRUE(result.ok()) << op << " of " << name << ": " << result.status();
  std::vector<bool> was_nan;
  for (double value : Values(codes)) was_nan.push_back(std::isnan(value) || (op == "sqrt" && value < 0));
  EXPECT_EQ(Hash(*result, was_nan), want) << op << " of " << name;
}

TEST(Narrow, EveryValueConvertsToEveryType) {
#define HLO_CONVERT(from, to, hash) ExpectConverts(from, to, hash);
#define HLO_PAIRS(op, type, hash)
#define HLO_UNARY(op, type, hash)
#include "narrow_hashes.inc"
#undef HLO_CONVERT
#undef HLO_PAIRS
#undef HLO_UNARY
}

TEST(Narrow, ArithmeticOfAllPairs) {
#define HLO_CONVERT(from, to, hash)
#define HLO_PAIRS(op, type, hash) ExpectPairs(op, type, hash);
#define HLO_UNARY(op, type, hash)
#include "narrow_hashes.inc"
#undef HLO_CONVERT
#undef HLO_PAIRS
#undef HLO_UNARY
}

TEST(Narrow, UnaryOperationsOnEveryValue) {
#define HLO_CONVERT(from, to, hash)
#define HLO_PAIRS(op, type, hash)
#define HLO_UNARY(op, type, hash) ExpectUnary(op, type, hash);
#include "narrow_hashes.inc"
#undef HLO_CONVERT
#undef HLO_PAIRS
#undef HLO_UNARY
}

}  // namespace
}  // namespace hlo::narrow_test
