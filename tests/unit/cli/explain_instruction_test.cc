// Tests `hlo-run explain FILE %INSTRUCTION`.

#include "cli_fixture.h"

namespace hlo::cli_test {
namespace {

TEST_F(Cli, AnInstructionIsExplained) {
  const std::string file = Write("m.hlo", R"(HloModule m
ENTRY e {
  x = f32[2,3] parameter(0)
  y = f32[3,4] parameter(1)
  d = f32[2,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/dot" source_file="f.py" source_line=7}
  e = f32[2,4] exponential(d)
  ROOT t = f32[2,4] tanh(e)
}
)");
  const Outcome outcome = Run("explain " + file + " %d");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_HAS(outcome.out, "%d: a dot in the entry computation e.\nIt is the sum of products of %x and %y");
  EXPECT_HAS(outcome.out, "Its value is f32[2,4].\n");
  EXPECT_HAS(outcome.out, "  %x: f32[2,3], by parameter\n");
  EXPECT_HAS(outcome.out, "  lhs_contracting_dims={1}\n");
  EXPECT_HAS(outcome.out, "  jit(f)/dot\n  f.py:7\n");
  // Each of the 8 elements is a sum of 3 products.
  EXPECT_HAS(outcome.out, "  48 floating-point operations\n  72 bytes read, 32 bytes written\n");
  EXPECT_HAS(Run("explain " + file + " %e").out, "%e: an exponential in the entry computation e.\n");
  EXPECT_EQ(Run("explain " + file + " %dd").status, 2);
  EXPECT_HAS(Run("explain " + file + " %dd").err, "there is no instruction 'dd'; did you mean 'd'?");
}

// The planner needs the elements of constants, an explanation does not.
TEST_F(Cli, InstructionsOfModulesWithElidedConstantsAreExplained) {
  const std::string file = Write("elided.hlo", R"(HloModule m
ENTRY e {
  x = f32[20] parameter(0)
  c = f32[20] constant({...})
  ROOT s = f32[20] add(x, c)
}
)");
  const Outcome outcome = Run("explain " + file + " %s");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_HAS(outcome.out, "The fast engine runs it by\n  loop");
  EXPECT_HAS(Run("plan " + file).err, "give --elided=zeros, random or counter");
}

}  // namespace
}  // namespace hlo::cli_test
