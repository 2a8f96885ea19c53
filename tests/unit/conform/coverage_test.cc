// Tests `hlo-run ops --coverage`: operations listed as evaluated can be evaluated, and tests/README.md
// contains the summary.

#include "conform/coverage.h"

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "hlo_run/run.h"

namespace hlo::conform::coverage_test {
namespace {

const Coverage& Measured() {
  static const auto* const kCoverage =
      new Coverage(MeasureCoverage(AllEngines(), {"tests/cases", "golden"}).value());
  return *kCoverage;
}

// Returns zeros, or the first value of types without zero.
std::vector<Literal> ZerosFor(const Module& module) {
  std::vector<Literal> arguments;
  for (const Instruction* parameter : module.entry()->parameters())
    arguments.push_back(Literal::CreateZeros(parameter->shape()).value());
  return arguments;
}

TEST(CoverageTest, EvaluatedOpcodesCanBeEvaluated) {
  for (size_t op = 0; op < kOpcodeCount; ++op) {
    for (size_t type = 0; type < kElementTypeCount; ++type) {
      for (const CheckedModule& probe : ProbesOf(static_cast<Opcode>(op), static_cast<ElementType>(type))) {
        if (!CheckSupported(probe).ok()) continue;
        const absl::StatusOr<Literal> value = Evaluate(probe, ZerosFor(probe.module()));
        // Transfers fail without a host.
        EXPECT_TRUE(value.ok() || absl::IsFailedPrecondition(value.status()))
            << Name(static_cast<Opcode>(op)) << " of " << Name(static_cast<ElementType>(type)) << ": "
            << value.status();
      }
    }
  }
}

TEST(CoverageTest, EveryOpcodeHasAProbe) {
  for (size_t op = 0; op < kOpcodeCount; ++op) {
    if (static_cast<Opcode>(op) == Opcode::kAfterAll) continue;  // after-all has no element type.
    EXPECT_TRUE(Measured().accepted[op].any()) << Name(static_cast<Opcode>(op));
  }
}

TEST(CoverageTest, TypesOfAFewOpcodesAreThoseOfTheSemantics) {
  const auto cell = [](const OpcodeTypes& types, Opcode op, ElementType type) {
    return types[static_cast<size_t>(op)].test(static_cast<size_t>(type));
  };
  const OpcodeTypes& reference = Measured().engines[0].second;
  EXPECT_TRUE(cell(reference, Opcode::kAdd, ElementType::kF32));
  EXPECT_TRUE(cell(reference, Opcode::kSort, ElementType::kC64));
  EXPECT_FALSE(cell(Measured().accepted, Opcode::kNot, ElementType::kF32));
  EXPECT_FALSE(cell(Measured().accepted, Opcode::kPartitionId, ElementType::kF32));
  EXPECT_TRUE(cell(Measured().accepted, Opcode::kShiftLeft, ElementType::kF32));
  EXPECT_TRUE(cell(Measured().meaningless, Opcode::kShiftLeft, ElementType::kF32));
  EXPECT_TRUE(cell(Measured().meaningless, Opcode::kTopk, ElementType::kC64));
  EXPECT_TRUE(cell(Measured().meaningless, Opcode::kMaximum, ElementType::kC128));
}

TEST(CoverageTest, EveryOpcodeIsTestedWithEveryAcceptedType) {
  for (size_t op = 0; op < kOpcodeCount; ++op) {
    for (size_t type = 0; type < kElementTypeCount; ++type) {
      if (!Measured().accepted[op].test(type) || Measured().meaningless[op].test(type)) continue;
      const std::string name =
          fmt::format("{} of {}", Name(static_cast<Opcode>(op)), Name(static_cast<ElementType>(type)));
      EXPECT_TRUE(Measured().engines[0].second[op].test(type)) << name << " is not evaluated";
      EXPECT_TRUE(Measured().tested[op].test(type)) << "no case has " << name;
    }
  }
}

TEST(CoverageTest, TheFastEngineHasKernelsOfItsOwn) {
  const auto fast = [](Opcode op, ElementType type) {
    return Measured().engines[1].second[static_cast<size_t>(op)].test(static_cast<size_t>(type));
  };
  EXPECT_TRUE(fast(Opcode::kAdd, ElementType::kF32));
  EXPECT_TRUE(fast(Opcode::kDot, ElementType::kF32));
  EXPECT_FALSE(fast(Opcode::kInfeed, ElementType::kF32));
  EXPECT_FALSE(fast(Opcode::kNot, ElementType::kF32));
}

TEST(CoverageTest, TheReadmeShowsTheSummary) {
  const auto readme = SourceText::Read("tests/README.md");
  ASSERT_TRUE(readme.ok());
  EXPECT_NE((*readme)->content().find(CoverageSummary(Measured())), std::string_view::npos)
      << "tools/docs/coverage writes it anew:\n"
      << CoverageSummary(Measured());
}

}  // namespace
}  // namespace hlo::conform::coverage_test
