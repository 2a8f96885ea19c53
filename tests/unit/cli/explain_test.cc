// `hlo-run explain`: rules, opcodes and passes.

#include "cli_fixture.h"

namespace hlo::explain_test {
namespace {

using cli_test::Outcome;

class Explain : public cli_test::Cli {};

TEST_F(Explain, ARuleIsPrintedWhole) {
  for (const char* citation : {"shape-rules.3.2", "shape-rules 3.2", "'[shape-rules 3.2]'"}) {
    const Outcome outcome = Run(std::string("explain ") + citation);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(outcome.out.starts_with("### 3.2 Elementwise unary operations\n")) << outcome.out;
    EXPECT_HAS(outcome.out, "| `is-finite` | floating | `pred` |");
    EXPECT_EQ(outcome.out.find("### 3.3"), std::string::npos);
  }
}

TEST_F(Explain, AChapterHasItsRules) {
  const Outcome outcome = Run("explain semantics.6");
  EXPECT_HAS(outcome.out, "### 6.1 dot");
  EXPECT_HAS(outcome.out, "### 6.4 convolution");
  EXPECT_EQ(outcome.out.find("### 7.1"), std::string::npos);
}

// Every rule that a diagnostic cites can be explained: this one is made by the checker.
TEST_F(Explain, TheRuleOfADiagnostic) {
  const std::string module =
      Write("m.hlo",
            "HloModule m\nENTRY e {\n  a = f32[2] parameter(0)\n  b = f32[3] parameter(1)\n"
            "  ROOT r = f32[2] add(a, b)\n}\n");
  const std::string message = Run("verify " + module).err;
  std::string citation;
  for (size_t at = message.find('['); at != std::string::npos; at = message.find('[', at + 1)) {
    if (message.compare(at + 1, 11, "shape-rules") == 0)
      citation = message.substr(at, message.find(']', at) - at + 1);
  }
  ASSERT_NE(citation, "") << message;
  const Outcome outcome = Run("explain '" + citation + "'");
  EXPECT_EQ(outcome.status, 0) << citation << outcome.err;
  EXPECT_HAS(outcome.out, "### ");
}

TEST_F(Explain, AnOpcodeHasItsAttributesAndRules) {
  const Outcome outcome = Run("explain transpose");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_HAS(outcome.out, "Operands: 1.");
  EXPECT_HAS(outcome.out, "Required attributes: dimensions.");
  EXPECT_HAS(outcome.out, "[shape-rules.3.6]");
  EXPECT_HAS(outcome.out, "| transpose, `dimensions=p` | operand[j] with j[p[k]] = i[k] |");
}

TEST_F(Explain, APassOfThePlanner) {
  const Outcome outcome = Run("explain loop_fusion");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_HAS(outcome.out, "--disable-pass loop_fusion");
}

TEST_F(Explain, UnknownTopicsHaveASuggestion) {
  const Outcome outcome = Run("explain transpos");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_HAS(
      outcome.err,
      "hlo-run: error: 'transpos' is neither a rule nor an opcode nor a pass; did you mean 'transpose'?");
}

TEST_F(Explain, TheListOfRules) {
  const Outcome outcome = Run("explain --list");
  EXPECT_HAS(outcome.out, "shape-rules.3.2");
  EXPECT_HAS(outcome.out, "text-format.5.4");
  EXPECT_HAS(outcome.out, "semantics.6.1");
  EXPECT_HAS(outcome.out, "spmd.5.4");
}

}  // namespace
}  // namespace hlo::explain_test
