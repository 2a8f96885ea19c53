// Tests `hlo-run extract`.

#include "cli_fixture.h"

namespace hlo::cli_test {
namespace {

constexpr char kLoop[] = R"(HloModule m
double {
  x = s32[] parameter(0)
  ROOT d = s32[] add(x, x)
}
body {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  twice = s32[] call(v), to_apply=double
  sum = s32[] add(twice, next)
  ROOT t = (s32[], s32[]) tuple(next, sum)
}
condition {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  a = s32[] parameter(0)
  unused = f32[3] parameter(1)
  b = s32[] negate(a)
  zero = s32[] constant(0)
  init = (s32[], s32[]) tuple(zero, b)
  w = (s32[], s32[]) while(init), condition=condition, body=body
  r = s32[] get-tuple-element(w), index=1
  q = s32[] multiply(r, b)
  ROOT z = s32[] subtract(q, a)
}
)";
constexpr char kArguments[] = " --input 's32[] 3' --input 'f32[3]{0,0,0}'";

TEST_F(Cli, AnInstructionIsExtractedWithItsOperands) {
  const std::string file = Write("m.hlo", kLoop), part = Path("part.hlo");
  // The whole entry with only the parameters that it needs.
  ASSERT_EQ(Run("extract " + file + " --instruction %q -o " + part).status, 0);
  const Outcome whole = Run(part + " --input 's32[] 3'");
  EXPECT_EQ(whole.out, "s32[] 66\n") << whole.err;
  // Operands beyond the height become parameters; constants remain.
  ASSERT_EQ(Run("extract " + file + " --instruction q --height 0 -o " + part).status, 0);
  EXPECT_EQ(Run(part + " --input r='s32[] 5' --input b='s32[] 7'").out, "s32[] 35\n");
  ASSERT_EQ(Run("extract " + file + " --instruction w --height 1 -o " + part).status, 0);
  EXPECT_EQ(Run(part + " --input 'b=s32[] -3'").out, "( s32[] 4, s32[] -22 )\n");
  // Instructions of other computations.
  ASSERT_EQ(Run("extract " + file + " --instruction sum --height 1 -o " + part).status, 0);
  EXPECT_EQ(Run(part + " --input v='s32[] 5' --input i='s32[] 1'").out, "s32[] 12\n");
}

TEST_F(Cli, AComputationIsExtractedWithWhatItCalls) {
  const std::string file = Write("m.hlo", kLoop), part = Path("part.hlo");
  ASSERT_EQ(Run("extract " + file + " --computation body -o " + part).status, 0);
  EXPECT_EQ(Run(part + " --input 's32[] 1' --input 's32[] 5'").out, "( s32[] 2, s32[] 12 )\n");
  const Outcome print = Run("print --form=short " + file + " --computation body");
  EXPECT_EQ(print.status, 0) << print.err;
  EXPECT_HAS(print.out, "double {");
  EXPECT_EQ(Run("verify " + Write("printed.hlo", print.out)).status, 0);
  EXPECT_EQ(print.out.find("condition"), std::string::npos);
}

TEST_F(Cli, TheValuesAtTheEdgeAreRecorded) {
  const std::string file = Write("m.hlo", kLoop), part = Path("part.hlo"), values = Path("values.npz");
  ASSERT_EQ(
      Run("extract " + file + " --instruction q --height 0 -o " + part + " --record " + values + kArguments)
          .status,
      0);
  EXPECT_EQ(Run(part + " --input " + values).out, "s32[] 66\n");
  const Outcome constants = Run("extract " + file + " --instruction q --height 0 --constants" + kArguments);
  EXPECT_HAS(constants.out, "constant(-22)");
  EXPECT_EQ(Run(Write("constants.hlo", constants.out)).out, "s32[] 66\n");
  // The third iteration of the loop starts with 2 and -8.
  ASSERT_EQ(
      Run("extract " + file + " --computation body --execution 3 --constants -o " + part + kArguments).status,
      0);
  EXPECT_EQ(Run(part).out, "( s32[] 3, s32[] -13 )\n");
  ASSERT_EQ(Run("extract " + file + " --instruction sum --height 0 --execution 2 --record " + values +
                " -o " + part + kArguments)
                .status,
            0);
  EXPECT_EQ(Run(part + " --input " + values).out, "s32[] -8\n");
  const Outcome never =
      Run("extract " + file + " --instruction sum --height 0 --execution 9 --constants" + kArguments);
  EXPECT_EQ(never.status, 2);
  EXPECT_HAS(never.err, "is executed less than 9 times");
}

TEST_F(Cli, NamesThatDoNotExistGetASuggestion) {
  const std::string file = Write("m.hlo", kLoop);
  const Outcome instruction = Run("extract " + file + " --instruction twise");
  EXPECT_EQ(instruction.status, 2);
  EXPECT_HAS(instruction.err, "there is no instruction 'twise'; did you mean 'twice'?");
  const Outcome computation = Run("extract " + file + " --computation bodi");
  EXPECT_EQ(computation.status, 2);
  EXPECT_HAS(computation.err, "there is no computation 'bodi'; did you mean 'body'?");
  EXPECT_EQ(Run("extract " + file).status, 2);
  EXPECT_EQ(Run("extract " + file + " --instruction q --computation body").status, 2);
}

}  // namespace
}  // namespace hlo::cli_test
