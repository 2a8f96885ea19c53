// Tests `hlo-run shadow` and `run --cross-check`. The expected values are computed by hand.

#include "cli_fixture.h"

namespace hlo::cli_test {
namespace {

// (a + b) - a with a = 1 and b = 2^-24 is 0 instead of b, since a + b rounds to 1.
constexpr char kCancel[] = R"(HloModule m
ENTRY e {
  a = f32[2] parameter(0)
  b = f32[2] parameter(1)
  s = f32[2] add(a, b)
  ROOT d = f32[2] subtract(s, a)
}
)";
constexpr char kSmall[] = " --input '{1,1}' --input '{5.9604644775390625e-8,0.5}'";  // 2^-24.

TEST_F(Cli, ShadowReportsInheritedAndAddedErrors) {
  const Outcome run = Run("shadow " + Write("cancel.hlo", kCancel) + kSmall);
  EXPECT_EQ(run.status, 0) << run.err;
  // d is {0, 0.5} instead of {2^-24, 0.5}. The ULP of its root mean square, the root of 1/8, is 2^-25.
  EXPECT_HAS(run.out, "           2            2            0           12  %d");
  EXPECT_HAS(run.out, "%d subtract at {0}");
  EXPECT_HAS(run.out, "%a = 1");
  EXPECT_HAS(run.out, "         0.5            0          0.5");
  EXPECT_HAS(run.out, "%d subtract cancels at {0}: condition number ");
}

TEST_F(Cli, ShadowExplainsByRounding) {
  const std::string file = Write("add.hlo", kAdd);
  // 0.1 + 0.2 in f32 is 0.300000012; its neighbour may result from another rounding, 0.3001 may not.
  const std::string inputs = " --input '{0.1,1}' --input '{0.2,2}'";
  const Outcome near =
      Run("shadow " + file + inputs + " --against " + Write("near.txt", "f32[2] {0.30000004, 3}"));
  EXPECT_EQ(near.status, 0) << near.err;
  EXPECT_HAS(near.out, "output 0: explained by rounding\n");
  EXPECT_HAS(near.out, "bound ");
  const Outcome far = Run("shadow " + file + inputs + " --against " + Write("far.txt", "f32[2] {0.3001, 3}"));
  EXPECT_EQ(far.status, 1) << far.err;
  EXPECT_HAS(far.out,
             "output 0: not explained: a bug; 1 element beyond the bound\n  at {0}: 0.3001, here 0.3");
}

TEST_F(Cli, ShadowReadsTheOtherResultBeforeItRuns) {
  const std::string run = "shadow " + Write("add.hlo", kAdd) + " --input '{0.1,1}' --input '{0.2,2}'";
  const Outcome missing = Run(run + " --max-seconds 1e-9 --against " + Path("missing.npz"));
  EXPECT_EQ(missing.status, 2);
  EXPECT_HAS(missing.err, "missing.npz: cannot be read");
  ASSERT_EQ(Run(Write("wide.hlo", "ENTRY e {\n  ROOT c = f64[2] constant({0.30000001, 3})\n}\n") + " -o " +
                Path("wide.npz"))
                .status,
            0);
  EXPECT_HAS(Run(run + " --against " + Path("wide.npz")).err, "found f64[2], expected f32[2] (--convert");
  const Outcome converted = Run(run + " --convert --against " + Path("wide.npz"));
  EXPECT_EQ(converted.status, 0) << converted.err;
  EXPECT_HAS(converted.out, "output 0: explained by rounding\n");
}

TEST_F(Cli, ShadowDoesNotJudgeResultsWithoutABound) {
  // The denominator may be 0.
  const std::string run = "shadow " + Write("pole.hlo", R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  s = f32[2] sine(x)
  d = f32[2] subtract(s, y)
  ROOT r = f32[2] divide(x, d)
}
)") + " --input '{1,1}' --against " +
                          Write("other.txt", "f32[2] {5, 5}") + " --input ";
  const Outcome none = Run(run + "'{0.84147098,0.84147098}'");
  EXPECT_EQ(none.status, 0) << none.err;
  EXPECT_HAS(none.out, "output 0: not judged: no element has a bound");
  const Outcome half = Run(run + "'{0.84147098,0.64147098}'");
  EXPECT_EQ(half.status, 0) << half.err;
  EXPECT_HAS(half.out, "; 1 element without a bound\n");
  EXPECT_EQ(half.out.find("not judged"), std::string::npos) << half.out;
}

TEST_F(Cli, ShadowDoesNotJudgeIntegersThatMayAllDiffer) {
  const std::string run = "shadow " + Write("bits.hlo", R"(HloModule m
ENTRY e {
  x = f32[1] parameter(0)
  s = f32[1] sine(x)
  ROOT r = u32[1] bitcast-convert(s)
}
)") + " --input '{1}' --against ";
  EXPECT_HAS(Run(run + Write("other.txt", "u32[1] {5}")).out,
             "output 0: not judged: every element may differ\n");
  // The bits of sin(1).
  EXPECT_HAS(Run(run + Write("same.txt", "u32[1] {1062693540}")).out, "output 0: explained by rounding");
}

TEST_F(Cli, ShadowNamesTheIllConditionedInstruction) {
  const Outcome run = Run("shadow " + Write("divide.hlo", R"(HloModule m
ENTRY e {
  a = f32[1] parameter(0)
  b = f32[1] parameter(1)
  c = f32[1] constant({1})
  s = f32[1] add(a, b)
  d = f32[1] subtract(s, a)
  ROOT r = f32[1] divide(d, b)
}
)") + " --input '{1000}' --input '{0.01}' --against " +
                          Write("other.txt", "f32[1] {1.003}"));
  // 1000.01 - 1000 has an error of up to 6e-5, which is 0.006 of 0.01.
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_HAS(run.out, "output 0: ill-conditioned at %d (condition number ");
}

TEST_F(Cli, ShadowReportsDecisions) {
  const Outcome run = Run("shadow " + Write("compare.hlo", R"(HloModule m
ENTRY e {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  s = f32[] add(a, b)
  ROOT g = pred[] compare(s, a), direction=GT
}
)") + " --input 1 --input 5.9604644775390625e-8");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_HAS(run.out, "%g compare at {} is false, but differs in the wider type: %s = 1, %a = 1 (1 element)");
}

TEST_F(Cli, ShadowPrintsJson) {
  const Outcome run = Run("shadow " + Write("cancel.hlo", kCancel) + kSmall + " --format=json --against " +
                          Write("out.txt", "f32[2] {0, 0.5}"));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_HAS(run.out, "\"verdict\":\"");
  EXPECT_HAS(run.out, "\"inherited_ulp\":2.0");
}

TEST_F(Cli, ShadowNeedsNoHost) {
  const Outcome takes = Run("shadow " + Write("infeed.hlo", R"(HloModule m
ENTRY e {
  t = token[] after-all()
  i = (f32[2], token[]) infeed(t)
  ROOT x = f32[2] get-tuple-element(i), index=0
}
)"));
  EXPECT_EQ(takes.status, 2);
  EXPECT_HAS(takes.err, "takes a value from the host, but there are none");
  const Outcome gives = Run("shadow --random 1 --replicas 2 " + Write("outfeed.hlo", R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  t = token[] after-all()
  o = token[] outfeed(x, t)
  ROOT r = f32[2] add(x, x)
}
)"));
  EXPECT_EQ(gives.status, 2);
  EXPECT_HAS(gives.err, "gives a value to the host, but there is none");
}

TEST_F(Cli, ShadowRejectsAResultOfAnotherShape) {
  const Outcome run =
      Run("shadow " + Write("add.hlo", kAdd) + " --random 1 --against " + Write("out.txt", "f32[3] {1,2,3}"));
  EXPECT_EQ(run.status, 2);
}

TEST_F(Cli, CrossCheckAgreesOnALoop) {
  const Outcome run = Run(Write("loop.hlo", R"(HloModule m
body {
  s = (s32[], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8,8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[8,8] tanh(y)
  ROOT t = (s32[], f32[8,8]) tuple(j, z)
}
condition {
  s = (s32[], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[8,8] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[8,8]) tuple(zero, x)
  w = (s32[], f32[8,8]) while(t), condition=condition, body=body
  ROOT r = f32[8,8] get-tuple-element(w), index=1
}
)") + " --random 1 --cross-check");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_HAS(run.out, "the engines agree within rounding in ");
}

// The operand is exact, so every implementation gives the infinity.
TEST_F(Cli, ShadowRejectsAFiniteLogarithmOfZero) {
  const std::string file = Write("log.hlo", R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  ROOT l = f32[2] log(x)
}
)");
  const std::string command = "shadow " + file + " --input '{0,1}' --against ";
  const Outcome finite = Run(command + Write("finite.txt", "f32[2] {-103.3, 0}"));
  EXPECT_EQ(finite.status, 1) << finite.err;
  EXPECT_HAS(finite.out, "not explained: a bug; 1 element beyond the bound");
  EXPECT_EQ(Run(command + Write("infinite.txt", "f32[2] {-inf, 0}")).status, 0);
}

}  // namespace
}  // namespace hlo::cli_test
