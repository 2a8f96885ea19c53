// Tests emulation of dot algorithms: if requested, operands are split and rounded as `algorithm=` specifies;
// otherwise it is ignored.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"
#include "hlo_run/run.h"

namespace hlo::dot_algorithm_test {
namespace {

struct Value {
  std::string algorithm;
  std::array<uint32_t, 3> lhs, rhs;
  uint32_t result;
};

const std::vector<Value>& Values() {
  static const auto* values = new std::vector<Value>{
#include "dot_algorithm_values.inc"
  };
  return *values;
}

Literal Vector(const std::array<uint32_t, 3>& bits) {
  Literal literal = Literal::Create(Shape::Array(ElementType::kF32, {3})).value();
  for (size_t i = 0; i < bits.size(); ++i) literal.mutable_span<float>()[i] = std::bit_cast<float>(bits[i]);
  return literal;
}

uint32_t Dot(const Value& value, bool emulate) {
  const auto source = std::make_shared<const SourceText>("dot.hlo", fmt::format(R"(HloModule m
ENTRY e {{
  a = f32[3] parameter(0)
  b = f32[3] parameter(1)
  ROOT r = f32[] dot(a, b), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}, algorithm={}
}}
)",
                                                                                value.algorithm));
  Diagnostics diagnostics;
  const CheckedModule module = Check(Parse(source, diagnostics), diagnostics).value();
  EvaluateOptions options;
  options.emulate_dot_algorithms = emulate;
  const Literal result = Evaluate(module, {Vector(value.lhs), Vector(value.rhs)}, options).value();
  return std::bit_cast<uint32_t>(result.span<float>()[0]);
}

TEST(DotAlgorithm, SplitsAndRoundsByTheTable) {
  for (const Value& value : Values()) EXPECT_EQ(Dot(value, true), value.result) << value.algorithm;
}

TEST(DotAlgorithm, IsIgnoredUnlessTheRunAsksForIt) {
  std::vector<uint32_t> full;
  for (const Value& value : Values()) {
    if (value.algorithm == "dot_f32_f32_f32") full.push_back(value.result);
  }
  ASSERT_FALSE(full.empty());
  for (size_t i = 0; i < Values().size(); ++i) EXPECT_EQ(Dot(Values()[i], false), full[i % full.size()]);
}

}  // namespace
}  // namespace hlo::dot_algorithm_test
