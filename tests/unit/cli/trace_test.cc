// Tests `hlo-run trace` and `run --fail-on-nan`. The expected values are computed by hand.

#include "cli_fixture.h"

namespace hlo::cli_test {
namespace {

// Iteration k divides by {4 - k, 2 - k}: the second element is infinite in iteration 2, and 0/0 follows where
// the dividend is 0.
constexpr char kTracedLoop[] = R"(HloModule m
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
fused {
  p = f32[2] parameter(0)
  q = f32[2] parameter(1)
  ROOT d = f32[2] divide(p, q), metadata={op_name="jit(f)/while/div" source_file="src/project/model.py" source_line=12}
}
condition {
  s = (s32[], f32[2], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[2], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  a = f32[2] get-tuple-element(s), index=1
  b = f32[2] get-tuple-element(s), index=2
  f = f32[2] fusion(a, b), kind=kLoop, calls=fused
  ones = f32[2] constant({1, 1})
  less = f32[2] subtract(b, ones)
  ROOT t = (s32[], f32[2], f32[2]) tuple(next, f, less)
}
ENTRY e {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  zero = s32[] constant(0)
  init = (s32[], f32[2], f32[2]) tuple(zero, x, y)
  w = (s32[], f32[2], f32[2]) while(init), condition=condition, body=body
  r = f32[2] get-tuple-element(w), index=1
  minus = f32[] constant(-1)
  total = f32[] reduce(r, minus), dimensions={0}, to_apply=add
  ROOT out = (f32[2], f32[]) tuple(r, total)
}
)";
constexpr char kFinite[] = " --input '{24,60}' --input '{4,5}'";     // 24/4/3/2 = 1, 60/5/4/3 = 1.
constexpr char kZeroByZero[] = " --input '{24,0}' --input '{4,2}'";  // 0/2, 0/1, 0/0.

class Trace : public Cli, public testing::WithParamInterface<std::string> {
 protected:
  // Runs on the engine of the test.
  Outcome OnEngine(const std::string& arguments) {
    return Run("trace " + Write("loop.hlo", kTracedLoop) + " --engine " + GetParam() + " " + arguments);
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, Trace, testing::Values("fast", "reference"));

TEST_P(Trace, PrintsTheSummaryOfAnInstructionInAFusionInALoop) {
  const Outcome run = OnEngine("--match '^d$'" + std::string(kFinite));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_HAS(run.out,
             "%d = f32[2] divide, iteration 1 of %w\n  min 6  max 12  mean 9  norm 13.4164  NaN 0  Inf 0\n");
  EXPECT_HAS(run.out,
             "%d = f32[2] divide, iteration 2 of %w\n  min 2  max 3  mean 2.5  norm 3.60555  NaN 0  Inf 0\n");
  EXPECT_HAS(run.out,
             "%d = f32[2] divide, iteration 3 of %w\n  min 1  max 1  mean 1  norm 1.41421  NaN 0  Inf 0\n");
}

TEST_P(Trace, SelectsAnIterationAndPrintsElements) {
  const Outcome run =
      OnEngine("--opcode divide --opcode subtract --iteration 2 --values" + std::string(kFinite));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_HAS(run.out, "f32[2] {2, 3}");
  EXPECT_HAS(run.out, "f32[2] {2, 3}\n");
  EXPECT_EQ(run.out.find("iteration 1"), std::string::npos);
  EXPECT_EQ(run.out.find("iteration 3"), std::string::npos);
}

TEST_P(Trace, NamesTheLastIterationOfAShorterLoop) {
  const Outcome beyond = OnEngine("--match '^d$' --iteration 4" + std::string(kFinite));
  EXPECT_EQ(beyond.out, "no selected instruction ran in iteration 4; the last one is 3\n");
  EXPECT_HAS(OnEngine("--match '^d$' --iteration 4 --format=json" + std::string(kFinite)).out,
             "\"last_iteration\":3");
  const Outcome outside = OnEngine("--match '^total$' --iteration 1" + std::string(kFinite));
  EXPECT_EQ(outside.out, "no selected instruction ran in iteration 1; none is in a loop\n");
}

TEST_P(Trace, SuggestsAnOpcode) {
  const Outcome run = OnEngine("--opcode divid" + std::string(kFinite));
  EXPECT_NE(run.status, 0);
  EXPECT_HAS(run.err, "--opcode: there is no opcode 'divid'; did you mean 'divide'?");
}

TEST_P(Trace, SelectsByMetadata) {
  for (const std::string flag :
       {"--op-name 'while/div$'", "--source model.py:12", "--source project/model.py"}) {
    const Outcome run = OnEngine(flag + " --iteration 3" + kFinite);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out,
              "%d = f32[2] divide, iteration 3 of %w\n  min 1  max 1  mean 1  norm 1.41421  NaN 0  Inf 0\n");
  }
  const Outcome none = OnEngine("--source model.py:13" + std::string(kFinite));
  EXPECT_EQ(none.status, 2);
  EXPECT_HAS(none.err, "no instruction of the module satisfies --source 'model.py:13'\n");
  const Outcome without = Run("trace " + Write("add.hlo", kAdd) + " --random 1 --source model.py");
  EXPECT_HAS(without.err, "satisfies --source 'model.py': its metadata name no source\n");
}

// The fast engine does not execute copies, and rounds differently than the reference.
TEST_P(Trace, CopiesHaveTheValuesThatTheyCopy) {
  const std::string file = Write("copies.hlo", R"(
ENTRY e {
  x = f32[2] parameter(0)
  d = f32[2] add(x, x)
  c = f32[2] copy(d)
  again = f32[2] copy(c)
  ROOT r = f32[2] multiply(again, x)
}
)");
  const Outcome run =
      Run("trace " + file + " --engine " + GetParam() + " -i '{1,2}' --opcode copy --format=json");
  EXPECT_EQ(run.status, 0) << run.err;
  for (const std::string name : {"c", "again"}) EXPECT_HAS(run.out, "\"instruction\":\"" + name + "\"");
  EXPECT_HAS(run.out, "\"min\":2.0,\"max\":4.0");
  EXPECT_EQ(run.out.find("\"kernel\":\"reference\"") != std::string::npos, GetParam() == "reference")
      << run.out;
}

TEST_P(Trace, ShowsTheInstructionsOfAReducer) {
  const Outcome run = OnEngine("--match '^s$' --opcode add --values" + std::string(kFinite));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_HAS(run.out, "%s = f32[] add\n");  // -1 + 1 = 0.
  EXPECT_HAS(run.out, "f32[] 0\n");
  EXPECT_HAS(run.out, "%s = f32[] add, execution 2\n");  // 0 + 1 = 1.
  EXPECT_HAS(run.out, "f32[] 1\n");
}

TEST_P(Trace, StoresValuesInAnArchive) {
  if (RunShell("python3 -c ''").status != 0) GTEST_SKIP() << "needs Python to read the archive";
  const Outcome run = OnEngine("--match '^(f|less)$' --output " + Path("values.npz") + kFinite);
  EXPECT_EQ(run.status, 0) << run.err;
  const Outcome keys = RunShell("python3 -c \"import zipfile; print(sorted(zipfile.ZipFile('" +
                                Path("values.npz") + "').namelist()))\" > " + Path("stdout"));
  EXPECT_HAS(keys.out, "['f@1.npy', 'f@2.npy', 'f@3.npy', 'less@1.npy', 'less@2.npy', 'less@3.npy']");
  // The last bytes of the array are its elements, 2 and 3.
  const Outcome bytes =
      RunShell("python3 -c \"import struct, zipfile; print(struct.unpack('<2f', zipfile.ZipFile('" +
               Path("values.npz") + "').read('f@2.npy')[-8:]))\" > " + Path("stdout"));
  EXPECT_HAS(bytes.out, "(2.0, 3.0)");
}

TEST_P(Trace, ReportsTheOriginOfANanAndItsPathToTheResult) {
  const Outcome run = OnEngine("--nans" + std::string(kZeroByZero));
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_HAS(run.out, "result {0} holds 1 NaN, the first at {1}\n");
  EXPECT_HAS(run.out, "NaN is produced by %d at {1}: ");
  EXPECT_HAS(run.out, "  d = f32[2] divide(p, q)\n  %p = 0\n  %q = 0\n  in iteration 3 of %w");
  EXPECT_HAS(run.out, "called by %w in e, then %f in body\n");
  EXPECT_HAS(run.out, "op_name jit(f)/while/div  source src/project/model.py:12\n");
  EXPECT_HAS(run.out, "reaches result {0}: %d");
}

TEST_P(Trace, ReportsTheOriginOfAnInfinity) {
  const Outcome run = OnEngine("--infs --input '{24,5}' --input '{4,2}'");  // 5/2, 2.5/1, 2.5/0.
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_HAS(run.out, "Inf is produced by %d at {1}: inf\n");
  EXPECT_HAS(run.out, "  %p = 2.5\n  %q = 0\n  in iteration 3 of %w");
}

// A complex number with a NaN is a NaN, even if its other part is infinite.
TEST_P(Trace, ComplexNansAreNoInfinities) {
  const std::string file = Write("complex.hlo", R"(HloModule m
ENTRY e {
  a = c64[2] parameter(0)
  ROOT r = c64[2] multiply(a, a)
}
)");
  const std::string flags = " --input '{(1,1),(1e30,1e30)}' --engine=" + std::string(GetParam());
  EXPECT_EQ(Run("trace " + file + " --infs" + flags).out.find("holds 0 Inf"), std::string::npos);
  EXPECT_HAS(Run("trace " + file + " --nans" + flags).out, "the result holds 1 NaN, the first at {1}\n");
}

// The planner replaces the reduction, whose elements must be combined in order, by a loop.
TEST_P(Trace, FindsAReductionThatIsReplaced) {
  const std::string file = Write("replaced.hlo", R"(HloModule m
combine {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  root = f32[] sqrt(a)
  ROOT difference = f32[] subtract(b, root)
}
ENTRY e {
  x = f32[100] parameter(0)
  one = f32[] constant(1)
  ROOT red = f32[] reduce(x, one), dimensions={0}, to_apply=combine
}
)");
  const Outcome run = Run("trace " + file + " --nans --random 1 --engine=" + std::string(GetParam()));
  EXPECT_HAS(run.out, "the result holds 1 NaN, the first at {}\n");
  EXPECT_HAS(run.out, "NaN is produced by %red at {}: ");
  EXPECT_EQ(run.out.find("%while"), std::string::npos) << run.out;
}

TEST_P(Trace, FindsNothingInAFiniteRun) {
  const Outcome run = OnEngine("--nans --infs" + std::string(kFinite));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "no instruction produces a NaN or an infinity\n");
}

TEST_P(Trace, DistinguishesArgumentsFromOrigins) {
  const Outcome run = OnEngine("--nans --input '{24,nan}' --input '{4,5}'");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out.find("is produced by"), std::string::npos) << run.out;
  EXPECT_HAS(run.out, "result {0} holds 1 NaN, the first at {1}\n");
  EXPECT_HAS(run.out, "NaN comes from %x (parameter) at {1}\n");
  EXPECT_HAS(run.out, "reaches result {0}: %x -> ");
}

// f16 ends at 65504 and at 2^-24, f8e4m3fn at 448 and 2^-9, f8e5m2 at 57344 and 2^-16, bf16 at 2^-133.
TEST_P(Trace, ReportsValuesThatNarrowerTypesCannotRepresent) {
  const std::string file = Write("range.hlo", R"(HloModule m
ENTRY e {
  a = f32[4] parameter(0)
  ROOT r = f32[4] negate(a)
}
)");
  const Outcome run =
      Run("trace " + file + " --engine " + GetParam() + " --match '^r$' --range --input '{1e5,1e-9,500,1}'");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_HAS(run.out, "as f16: 1 overflow (first at {0}: -100000) 1 underflow to 0 (first at {1}: -1e-09)\n");
  EXPECT_HAS(run.out,
             "as f8e5m2: 1 overflow (first at {0}: -100000) 1 underflow to 0 (first at {1}: -1e-09)\n");
  EXPECT_HAS(run.out,
             "as f8e4m3fn: 2 overflow (first at {0}: -100000) 1 underflow to 0 (first at {1}: -1e-09)\n");
  EXPECT_EQ(run.out.find("bf16"), std::string::npos);
}

// 1000 squared overflows f16, and 2000 is NaN in f8e4m3fn, which has no infinity.
TEST_P(Trace, ReportsValuesThatOverflowedTheirOwnType) {
  const std::string file = Write("own_range.hlo", R"(HloModule m
ENTRY e {
  a = f16[3] parameter(0)
  q = f16[3] multiply(a, a)
  n = f8e4m3fn[3] convert(a)
  ROOT r = (f16[3], f8e4m3fn[3]) tuple(q, n)
}
)");
  const Outcome run =
      Run("trace " + file + " --engine " + GetParam() + " --match '^[qn]$' --range --input '{1,1000,2000}'");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_HAS(run.out, "as f16, its own type: 2 Inf (first at {1})\n");
  EXPECT_HAS(run.out, "as f8e4m3fn, its own type: 2 NaN (first at {1})\n");
}

TEST_F(Cli, TraceRangeTakesTypesAndNoFile) {
  const std::string file = Write("add.hlo", kAdd);
  const std::string run = "trace " + file + " --random 1 ";
  const Outcome types = Run(run + "--range=f8e4m3fn,f16 --format=json");
  EXPECT_EQ(types.status, 0) << types.err;
  EXPECT_HAS(types.out, "\"f8e4m3fn\":{\"overflows\":0");
  EXPECT_EQ(types.out.find("bf16"), std::string::npos);
  EXPECT_EQ(Run(run + "--range").out, "no traced value overflows or underflows\n");
  EXPECT_HAS(Run(run + "--range f16").err, "--range: 'f16' is taken as a file: write --range=f16\n");
  EXPECT_HAS(Run(run + "--range 0:1").err, "the range of random arguments is --random-range 0:1\n");
  EXPECT_HAS(Run(run + "--range=f64").err, "'f64' is not a list of float types of at most 16 bits");
  EXPECT_HAS(Run(run + "--random-range 3:3 --match . --values").out, "3");
}

TEST_F(Cli, TraceRejectsUnknownSelections) {
  const std::string file = Write("add.hlo", kAdd);
  EXPECT_HAS(Run("trace " + file + " --random 1 --opcode nonsense").err, "there is no opcode 'nonsense'");
  EXPECT_HAS(Run("trace " + file + " --random 1 --match '('").err, "is not a regular expression");
  EXPECT_EQ(Run("trace " + file + " --random 1 --iteration x").status, 2);
}

TEST_F(Cli, FailOnNanNamesTheOutputAndTheOrigin) {
  const std::string file = Write("loop.hlo", kTracedLoop);
  const Outcome run = Run(file + " --fail-on-nan" + kZeroByZero);
  EXPECT_EQ(run.status, 1);
  EXPECT_HAS(run.err, "error: the result contains a NaN\nresult {0} holds 1 NaN, the first at {1}\n");
  EXPECT_HAS(run.err, "NaN is produced by %d at {1}: ");
  EXPECT_HAS(run.err, "in iteration 3 of %w");
  EXPECT_EQ(Run(file + " --fail-on-nan" + kFinite).status, 0);
}

// Each comparison of a sort is a record, of which only the reference has a value.
TEST_F(Cli, TraceEndsTheRunByTheReferenceAtTheLastRecord) {
  const std::string sort = "trace " + Write("sort.hlo", R"(HloModule m
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT
}
ENTRY e {
  x = f32[1000000] parameter(0)
  ROOT s = f32[1000000] sort(x), dimensions={0}, to_apply=less
}
)") + " --random 1 --max-seconds 5";
  const Outcome some = Run(sort + " --max-records 4");
  EXPECT_EQ(some.status, 0) << some.err;
  EXPECT_HAS(some.out, "there are more than 4 records; the others are left out (see --max-records)\n");
  // It does not start if the fast engine has enough records.
  const Outcome none = Run(sort + " --max-records 0");
  EXPECT_EQ(none.status, 0) << none.err;
  EXPECT_EQ(none.out, "there are more than 0 records; the others are left out (see --max-records)\n");
  const Outcome counted = Run(sort + " --match '^s$' --max-records 0");
  EXPECT_EQ(counted.out, "1 more records are left out (see --max-records)\n");
}

TEST_F(Cli, TraceFindsOriginsAndStoresValues) {
  const std::string file = Write("loop.hlo", kTracedLoop);
  const Outcome both = Run("trace " + file + kZeroByZero + " --nans --iteration 3 -o " + Path("values.npz"));
  EXPECT_EQ(both.status, 1) << both.err;
  EXPECT_HAS(both.out, "NaN is produced by %d");
  EXPECT_HAS(both.out, "%d = f32[2] divide, iteration 3 of %w\n");
  // The condition and the body have instructions of the same names.
  const std::string stored = ReadFile(Path("values.npz"));
  for (const char* key : {"condition/i@3", "body/i@3", "d@3"}) EXPECT_HAS(stored, key);
  EXPECT_EQ(Run("trace " + file + kFinite + " -o " + Path("values.txt")).status, 2);
}

}  // namespace
}  // namespace hlo::cli_test
