// Tests `hlo-run diff`.

#include "cli_fixture.h"
#include "nlohmann/json.hpp"

namespace hlo::cli_test {
namespace {

using Json = nlohmann::json;

constexpr char kBefore[] = R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  sum = f32[4] add(x, y)
  square = f32[4] multiply(sum, sum)
  root = f32[4] sqrt(square)
  ROOT r = f32[4] subtract(root, y)
}
)";
// The same module after a pass that fuses and renames instructions, with a bug: it adds instead of
// subtracting.
constexpr char kFused[] = R"(HloModule m
fused {
  p = f32[4] parameter(0)
  q = f32[4] parameter(1)
  a = f32[4] add(q, p)
  b = f32[4] multiply(a, a)
  ROOT c = f32[4] sqrt(b)
}
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  f = f32[4] fusion(x, y), kind=kLoop, calls=fused
  ROOT d = f32[4] add(f, y)
}
)";
constexpr char kInputs[] = " --input 'f32[4]{1,2,3,4}' --input 'f32[4]{1,1,2,2}'";

TEST_F(Cli, DiffFindsTheInstructionOfAFusedAndRenamedModule) {
  const std::string files = Write("before.hlo", kBefore) + " " + Write("after.hlo", kFused);
  const Outcome text = Run("diff " + files + kInputs);
  EXPECT_EQ(text.status, 1) << text.err;
  EXPECT_HAS(text.out, "the first difference is r and d (aligned by result)");
  EXPECT_HAS(text.out, "with equal operands, both compute different values");
  const Json diff = Json::parse(Run("diff --format=json " + files + kInputs).out)["diff"];
  EXPECT_EQ(diff["first"]["value"]["a_value"], "f32[4] {1, 2, 3, 4}");
  EXPECT_EQ(diff["first"]["value"]["b_value"], "f32[4] {3, 4, 7, 8}");
  ASSERT_EQ(diff["first"]["operands"].size(), 2u);
  EXPECT_EQ(diff["first"]["operands"][0]["a"], "y");
  EXPECT_EQ(diff["first"]["operands"][1]["a"], "root");
  EXPECT_EQ(diff["first"]["operands"][1]["b"], "f/c");
}

// A pass has copied the computation of an index into two fusions, and swapped the values of one select. The
// names do not show that, and the metadata of the reshapes differ.
constexpr char kIndexed[] = R"(HloModule m
ENTRY e {
  x = f32[6,16] parameter(0)
  i = s32[] parameter(1)
  zero = s32[] constant(0)
  six = s32[] constant(6)
  less = pred[] compare(i, zero), direction=LT
  added = s32[] add(i, six)
  index = s32[] select(less, added, i)
  slice = f32[1,16] dynamic-slice(x, index, zero), dynamic_slice_sizes={1,16}, metadata={op_name="slice"}
  row = f32[16] reshape(slice), metadata={op_name="squeeze"}
  n = f32[16] negate(row)
  s = f32[16] sine(row)
  ROOT t = (f32[16], f32[16]) tuple(n, s)
}
)";
constexpr char kCopied[] = R"(HloModule m
f1 {
  p = f32[6,16] parameter(0)
  j = s32[] parameter(1)
  c.1 = s32[] constant(0)
  d.1 = s32[] constant(6)
  k.1 = pred[] compare(j, c.1), direction=LT
  l.1 = s32[] add(j, d.1)
  m.1 = s32[] select(k.1, l.1, j)
  o.1 = f32[1,16] dynamic-slice(p, m.1, c.1), dynamic_slice_sizes={1,16}, metadata={op_name="slice"}
  q.1 = f32[16] bitcast(o.1), metadata={op_name="slice"}
  ROOT r.1 = f32[16] negate(q.1)
}
f2 {
  p = f32[6,16] parameter(0)
  j = s32[] parameter(1)
  c.2 = s32[] constant(0)
  d.2 = s32[] constant(6)
  k.2 = pred[] compare(j, c.2), direction=LT
  l.2 = s32[] add(j, d.2)
  m.2 = s32[] select(k.2, j, l.2)
  o.2 = f32[1,16] dynamic-slice(p, m.2, c.2), dynamic_slice_sizes={1,16}, metadata={op_name="slice"}
  q.2 = f32[16] bitcast(o.2), metadata={op_name="slice"}
  ROOT r.2 = f32[16] sine(q.2)
}
ENTRY e {
  x = f32[6,16] parameter(0)
  i = s32[] parameter(1)
  f = f32[16] fusion(x, i), kind=kLoop, calls=f1
  g = f32[16] fusion(x, i), kind=kLoop, calls=f2
  ROOT t = (f32[16], f32[16]) tuple(f, g)
}
)";

TEST_F(Cli, DiffFindsTheCopyOfAnInstructionThatDiffers) {
  const std::string files = Write("before.hlo", kIndexed) + " " + Write("after.hlo", kCopied);
  const Outcome second = Run("diff " + files + " --random 1 --input i=2");
  EXPECT_EQ(second.status, 1) << second.err;
  EXPECT_HAS(second.out, "the first difference is index and g/m.2 (aligned by neighbours)");
  EXPECT_HAS(second.out, "  i\n    = s32[] 2\n");
  // In the other fusion, which is aligned first.
  std::string first = kCopied;
  first.replace(first.find("(k.1, l.1, j)"), 13, "(k.1, j, l.1)");
  first.replace(first.find("(k.2, j, l.2)"), 13, "(k.2, l.2, j)");
  const Outcome other =
      Run("diff " + Path("before.hlo") + " " + Write("first.hlo", first) + " --random 1 --input i=2");
  EXPECT_EQ(other.status, 1) << other.err;
  EXPECT_HAS(other.out, "the first difference is index and f/m.1 (aligned by neighbours)");
  // Without a bug, all copies agree.
  std::string right = kCopied;
  right.replace(right.find("(k.2, j, l.2)"), 13, "(k.2, l.2, j)");
  const Outcome agree =
      Run("diff " + Path("before.hlo") + " " + Write("right.hlo", right) + " --random 1 --input i=2");
  EXPECT_EQ(agree.status, 0) << agree.out;
  EXPECT_HAS(agree.out, "the results agree\n");
}

// A pass has moved a reshape behind elementwise instructions, which have a dimension of size 1 there, and one
// of them is wrong.
TEST_F(Cli, DiffAlignsValuesThatDifferInDimensionsOfSizeOne) {
  const std::string before = R"(HloModule m
ENTRY e {
  x = f32[1,16] parameter(0)
  y = f32[16] parameter(1)
  row = f32[16] reshape(x)
  n = f32[16] negate(row)
  s = f32[16] sine(n)
  t = f32[16] tanh(s)
  ROOT r = f32[16] add(t, y)
}
)";
  const std::string after = R"(HloModule m
ENTRY e {
  x = f32[1,16] parameter(0)
  y = f32[16] parameter(1)
  a = f32[1,16] negate(x)
  b = f32[1,16] cosine(a)
  c = f32[1,16] tanh(b)
  d = f32[16] reshape(c)
  ROOT g = f32[16] add(d, y)
}
)";
  const std::string files = Write("before.hlo", before) + " " + Write("after.hlo", after);
  const Outcome outcome = Run("diff " + files + " --random 1");
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_HAS(outcome.out, "the first difference is t and c (aligned by neighbours)");
  EXPECT_HAS(outcome.out, "its operands agree\n  x\n");
  // A result of other dimensions is no equal result.
  std::string flat = after;
  flat.replace(flat.find("ROOT g = f32[16] add(d, y)"), 26, "ROOT g = f32[1,16] copy(c)");
  const Outcome other = Run("diff " + Path("before.hlo") + " " + Write("flat.hlo", flat) + " --random 1");
  EXPECT_EQ(other.status, 2);
  EXPECT_HAS(other.err, "result 0 is f32[16] and f32[1,16]");
}

TEST_F(Cli, ElidedConstantsAreComparedByTheirText) {
  const std::string elided = R"(HloModule m
ENTRY e {
  x = s32[4] parameter(0)
  c = s32[4] constant({...})
  ROOT r = s32[4] add(x, c)
}
)";
  std::string other = elided;
  other.replace(other.find("add("), 4, "and(");
  const std::string file = Write("m.hlo", elided);
  const Outcome same = Run("diff --structural " + file + " " + file);
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_HAS(same.out, "all 3 instructions are equal");
  const Outcome changed = Run("diff --structural " + file + " " + Write("n.hlo", other));
  EXPECT_EQ(changed.status, 1) << changed.err;
  EXPECT_HAS(changed.out, "- r: %r = s32[4] add(%x, %c)");
  // Their elements are needed to run.
  EXPECT_EQ(Run("diff " + file + " " + file + " --random 1").status, 2);
  EXPECT_EQ(Run("diff " + file + " " + file + " --random 1 --elided zeros").status, 0);
}

TEST_F(Cli, RecordedValuesOfOtherArgumentsAreReported) {
  const std::string file = Write("before.hlo", kBefore);
  const std::string recorded = Path("recorded.npz");
  ASSERT_EQ(Run("trace " + file + " --random 1 -o " + recorded).status, 0);
  // The archive may come first.
  const Outcome outcome = Run("diff " + recorded + " " + file + " --random 2");
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_HAS(outcome.out, "the recorded values are of a run on other arguments");
  EXPECT_EQ(Run("diff " + recorded + " " + file + " --random 1").status, 0);
}

TEST_F(Cli, RecordedValuesOfIterationsAreCompared) {
  const std::string text = R"(HloModule m
test {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[4] get-tuple-element(s), index=1
  y = f32[4] multiply(x, x)
  z = f32[4] sine(y)
  ROOT t = (s32[], f32[4]) tuple(next, z)
}
ENTRY e {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[4]) tuple(zero, x)
  w = (s32[], f32[4]) while(init), condition=test, body=body
  ROOT r = f32[4] get-tuple-element(w), index=1
}
)";
  const std::string file = Write("m.hlo", text), recorded = Path("recorded.npz"), inputs = " --random 1";
  ASSERT_EQ(Run("trace " + file + inputs + " -o " + recorded).status, 0);
  const Outcome same = Run("diff " + file + " " + recorded + inputs);
  EXPECT_EQ(same.status, 0) << same.out;
  EXPECT_HAS(same.out, " recorded values of loops and tuples were compared: 0 differ\n");
  EXPECT_EQ(same.out.find("name no instruction"), std::string::npos) << same.out;
  std::string wrong = text;
  wrong.replace(wrong.find("sine"), 4, "tanh");
  const std::string other = Write("wrong.hlo", wrong);
  const Outcome differs = Run("diff " + other + " " + recorded + inputs);
  EXPECT_EQ(differs.status, 1) << differs.out;
  EXPECT_HAS(differs.out,
             "the first of them is %z = f32[4] tanh, iteration 1 of %w\n  %z = f32[4] tanh(%y)\n");
  EXPECT_HAS(differs.out, "its operands agree in this iteration\n");
  // Only values of iterations were recorded.
  ASSERT_EQ(Run("trace " + file + inputs + " --match '^z$' -o " + recorded).status, 0);
  const Json json = Json::parse(Run("diff --format=json " + other + " " + recorded + inputs).out)["diff"];
  EXPECT_EQ(json["compared"], 0);
  EXPECT_EQ(json["iterations"]["compared"], 3);
  EXPECT_EQ(json["iterations"]["differing"], 3);
  EXPECT_EQ(json["iterations"]["first"]["operands_agree"], false);
}

TEST_F(Cli, EqualModulesHaveNoDifference) {
  const std::string file = Write("before.hlo", kBefore);
  std::string renamed = kFused;
  renamed.replace(renamed.find("d = f32[4] add(f, y)"), 20, "d = f32[4] subtract(f, y)");
  const Outcome same = Run("diff " + file + " " + Write("after.hlo", renamed) + " --random 1");
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_HAS(same.out, "the results agree");
}

// Partial sums of a reordered sum have the same names but other operands.
TEST_F(Cli, PartialSumsOfAReorderedSumAreNotCompared) {
  constexpr char kLeft[] = R"(HloModule m
ENTRY e {
  a = f32[2] parameter(0)
  b = f32[2] parameter(1)
  c = f32[2] parameter(2)
  s = f32[2] add(a, b)
  t = f32[2] add(s, c)
  ROOT r = f32[2] exponential(t)
}
)";
  constexpr char kRight[] = R"(HloModule m
ENTRY e {
  a = f32[2] parameter(0)
  b = f32[2] parameter(1)
  c = f32[2] parameter(2)
  s = f32[2] add(b, c)
  t = f32[2] add(a, s)
  ROOT r = f32[2] cosine(t)
}
)";
  const Outcome diff =
      Run("diff --format=json " + Write("l.hlo", kLeft) + " " + Write("r.hlo", kRight) + " --random 3");
  EXPECT_EQ(diff.status, 1) << diff.err;
  const Json first = Json::parse(diff.out)["diff"]["first"];
  EXPECT_EQ(first["value"]["a"], "r");
  EXPECT_EQ(first["confirmed"], true);
}

// Cancellation, as in 1e4 + 1 - 1e4, amplifies a rounding error. Both modules compute the same value from the
// same operands, so neither has a bug.
TEST_F(Cli, AmplifiedRoundingErrorsAreNotReportedAsBugs) {
  constexpr char kText[] = R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  c = f32[] constant(%s)
  k = f32[2] broadcast(c), dimensions={}
  y = f32[2] add(x, k)
  big = f32[] constant(10000)
  bigs = f32[2] broadcast(big), dimensions={}
  z = f32[2] subtract(y, bigs)
  million = f32[] constant(1000000)
  millions = f32[2] broadcast(million), dimensions={}
  ROOT r = f32[2] multiply(z, millions)
}
)";
  std::string a = kText, b = kText;
  a.replace(a.find("%s"), 2, "10000.5");
  b.replace(b.find("%s"), 2, "10000.501");
  const Outcome diff =
      Run("diff --format=json " + Write("a.hlo", a) + " " + Write("b.hlo", b) + " --input 'f32[2]{0,0}'");
  EXPECT_EQ(diff.status, 1) << diff.err;
  const Json first = Json::parse(diff.out)["diff"]["first"];
  EXPECT_EQ(first["value"]["a"], "z");
  EXPECT_EQ(first["confirmed"], false);
}

// Only one of the modules has a `tuple`: the root of the other computes both results.
TEST_F(Cli, DiffComparesTheElementsOfARootThatComputesATuple) {
  const std::string separate = Write("separate.hlo", R"(HloModule m
ENTRY e {
  x = f32[3] parameter(0)
  t = (f32[2], s32[2]) topk(x), k=2, largest=true
  values = f32[2] get-tuple-element(t), index=0
  indices = s32[2] get-tuple-element(t), index=1
  ROOT r = (f32[2], s32[2]) tuple(values, indices)
}
)");
  const auto whole = [&](const char* largest) {
    return Write(std::string(largest) + ".hlo", std::string(R"(HloModule m
ENTRY e {
  x = f32[3] parameter(0)
  ROOT t = (f32[2], s32[2]) topk(x), k=2, largest=)") +
                                                    largest + "\n}\n");
  };
  constexpr char kInput[] = " --input 'f32[3]{1,3,2}'";
  const Outcome equal = Run("diff " + separate + " " + whole("true") + kInput);
  EXPECT_EQ(equal.status, 0) << equal.err;
  EXPECT_HAS(equal.out, "the results agree");
  const Outcome other = Run("diff " + separate + " " + whole("false") + kInput);
  EXPECT_EQ(other.status, 1) << other.err;
  EXPECT_HAS(other.out, "the first difference is t");
}

// Both names and results show that the instruction is the same one, with another operand.
TEST_F(Cli, DiffFindsAWrongOperand) {
  constexpr char kText[] = R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  s = f32[4] sine(x)
  c = f32[4] cosine(y)
  p = f32[4] multiply(s, %s)
  q = f32[4] exponential(p)
  ROOT r = f32[4] add(q, c)
}
)";
  std::string a = kText, b = kText;
  a.replace(a.find("%s"), 2, "c");
  b.replace(b.find("%s"), 2, "y");
  const Outcome diff =
      Run("diff --format=json " + Write("a.hlo", a) + " " + Write("b.hlo", b) + " --random 1");
  EXPECT_EQ(diff.status, 1) << diff.err;
  const Json first = Json::parse(diff.out)["diff"]["first"];
  EXPECT_EQ(first["value"]["a"], "p");
  EXPECT_EQ(first["confirmed"], true);
  EXPECT_EQ(first["note"], "their operands differ; with the first module's value here, r agrees");
}

// The wrong values agree within the tolerance of f8e4m3fn, but not within that of f32. Rounding explains
// none.
TEST_F(Cli, ADifferenceWithinTheToleranceIsNotCalledRounding) {
  constexpr char kText[] = R"(HloModule m
ENTRY e {
  x = f32[3] parameter(0)
  y = f32[3] parameter(1)
  narrow = f8e4m3fn[3] convert(%s)
  sum = f32[3] add(x, y)
  wide = f32[3] convert(narrow)
  ROOT r = f32[3] multiply(wide, sum)
}
)";
  std::string a = kText, b = kText;
  a.replace(a.find("%s"), 2, "x");
  b.replace(b.find("%s"), 2, "y");
  const Outcome diff = Run("diff --format=json " + Write("a.hlo", a) + " " + Write("b.hlo", b) +
                           " --input '{1,0.5,2}' --input '{1.25,0.75,1.5}'");
  EXPECT_EQ(diff.status, 1) << diff.err;
  const Json first = Json::parse(diff.out)["diff"]["first"];
  EXPECT_EQ(first["value"]["a"], "narrow");
  EXPECT_EQ(first["confirmed"], true);
}

// A sum in another order is rounding, a constant is not, however small; a tolerance is the user's decision.
TEST_F(Cli, DiffJudgesByRoundingWhatIsWithinTheDefaultTolerance) {
  const std::string a = Write("a.hlo", "HloModule m\nENTRY e {\n ROOT c = bf16[] constant(0.01)\n}\n");
  const std::string b = Write("b.hlo", "HloModule m\nENTRY e {\n ROOT c = bf16[] constant(0.02)\n}\n");
  const Outcome diff = Run("diff " + a + " " + b);
  EXPECT_EQ(diff.status, 1) << diff.err;
  EXPECT_HAS(diff.out, "the result c differs within the tolerance");
  const Outcome tolerated = Run("diff " + a + " " + b + " --tolerance 'within abs 0.02 rel 0'");
  EXPECT_EQ(tolerated.status, 0) << tolerated.err;
  EXPECT_HAS(tolerated.out, "the results agree, 1 of them only within the tolerance (see --tolerance)");
  EXPECT_EQ(Run("diff " + a + " " + a).out.find("tolerance"), std::string::npos);

  constexpr char kSum[] = R"(HloModule m
ENTRY e {
  x = bf16[4] parameter(0)
  y = bf16[4] parameter(1)
  z = bf16[4] parameter(2)
  s = bf16[4] add(%s)
  ROOT t = bf16[4] add(s, %s)
}
)";
  std::string left = kSum, right = kSum;
  left.replace(left.find("%s"), 2, "x, y").replace(left.rfind("%s"), 2, "z");
  right.replace(right.find("%s"), 2, "y, z").replace(right.rfind("%s"), 2, "x");
  const Outcome sums =
      Run("diff " + Write("l.hlo", left) + " " + Write("r.hlo", right) + " --random 1 --range 1:3");
  EXPECT_EQ(sums.status, 0) << sums.out;
}

// Names in a called computation are relative to that of its call.
TEST_F(Cli, DiffAlignsNamesThatAreRelativeToACall) {
  constexpr char kCalled[] = R"hlo(HloModule m
g { p = f32[2] parameter(0)
  q = f32[2] sine(p), metadata={op_name="first"}
  s = f32[2] sine(q), metadata={op_name="second"}
  ROOT r = f32[2] negate(s), metadata={op_name="third"} }
ENTRY e {
  x = f32[2] parameter(0)
  ROOT c = f32[2] call(x), to_apply=g, metadata={op_name="jit(f)/jit(g)"}
}
)hlo";
  constexpr char kInlined[] = R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  v1 = f32[2] sine(x), metadata={op_name="jit(f)/jit(g)/first"}
  v2 = f32[2] cosine(v1), metadata={op_name="jit(f)/jit(g)/second"}
  ROOT v3 = f32[2] negate(v2), metadata={op_name="jit(f)/jit(g)/third"}
}
)";
  const Json first = Json::parse(Run("diff --format=json " + Write("a.hlo", kCalled) + " " +
                                     Write("b.hlo", kInlined) + " --input 'f32[2]{0.25,1}'")
                                     .out)["diff"]["first"];
  EXPECT_EQ(first["value"]["a"], "c/s");
  EXPECT_EQ(first["value"]["b"], "v2");
  EXPECT_EQ(first["value"]["op_name"], "jit(f)/jit(g)/second");
}

// The changed operand of a commutative operation has the opcode of the other operand.
TEST_F(Cli, DiffFindsAChangedOpcodeBesideAnEqualOne) {
  constexpr char kText[] = R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  p = f32[4] %s(x, y)
  q = f32[4] multiply(x, x)
  ROOT r = f32[4] multiply(p, q)
}
)";
  std::string a = kText, b = kText;
  a.replace(a.find("%s"), 2, "multiply");
  b.replace(b.find("%s"), 2, "add");
  const Outcome diff =
      Run("diff --format=json " + Write("a.hlo", a) + " " + Write("b.hlo", b) + " --random 1");
  EXPECT_EQ(Json::parse(diff.out)["diff"]["first"]["value"]["a"], "p") << diff.err;
}

// A compiler removed the roundings to bf16 between the additions, which is legal. The module calls another
// computation.
TEST_F(Cli, MorePreciseIntermediateResultsAreNotReportedAsBugs) {
  constexpr char kText[] = R"(HloModule m
sum { p = f32[] parameter(0)  q = f32[] parameter(1)  ROOT s = f32[] add(p, q) }
ENTRY e {
  x = bf16[64] parameter(0)
  y = bf16[64] parameter(1)
%s  zero = f32[] constant(0)
  square = f32[64] multiply(wide, wide)
  ROOT r = f32[] reduce(square, zero), dimensions={0}, to_apply=sum
}
)";
  std::string a = kText, b = kText;
  a.replace(a.find("%s"), 2, "t = bf16[64] add(x, y)\n u = bf16[64] add(t, x)\n wide = f32[64] convert(u)\n");
  b.replace(b.find("%s"), 2,
            "v = f32[64] convert(x)\n w = f32[64] convert(y)\n t = f32[64] add(v, w)\n"
            "wide = f32[64] add(t, v)\n");
  const std::string files = Write("a.hlo", a) + " " + Write("b.hlo", b) + " --random 1 --range 1:3";
  const Json first = Json::parse(Run("diff --format=json " + files).out)["diff"]["first"];
  EXPECT_EQ(first["confirmed"], false);
}

// The wrong values are scaled below the tolerance, and then above it.
TEST_F(Cli, DiffFindsACauseAboveValuesThatAgree) {
  constexpr char kText[] = R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  p = f32[4] %s(x)
  tiny = f32[] constant(1e-5)
  tinies = f32[4] broadcast(tiny), dimensions={}
  q = f32[4] multiply(p, tinies)
  large = f32[] constant(1e5)
  larges = f32[4] broadcast(large), dimensions={}
  ROOT r = f32[4] multiply(q, larges)
}
)";
  std::string a = kText, b = kText;
  a.replace(a.find("%s"), 2, "sine");
  b.replace(b.find("%s"), 2, "cosine");
  const Outcome diff =
      Run("diff --format=json " + Write("a.hlo", a) + " " + Write("b.hlo", b) + " --random 1");
  const Json first = Json::parse(diff.out)["diff"]["first"];
  EXPECT_EQ(first["value"]["a"], "p") << diff.err;
  EXPECT_EQ(first["confirmed"], true);
}

// Only the position of the instruction shows that the subtraction replaces the addition.
TEST_F(Cli, DiffFindsAChangedOpcode) {
  std::string after = kBefore;
  after.replace(after.find("sum = f32[4] add(x, y)"), 22, "new = f32[4] subtract(x, y)");
  after.replace(after.find("multiply(sum, sum)"), 18, "multiply(new, new)");
  const Outcome diff =
      Run("diff --format=json " + Write("a.hlo", kBefore) + " " + Write("b.hlo", after) + kInputs);
  EXPECT_EQ(diff.status, 1) << diff.err;
  const Json first = Json::parse(diff.out)["diff"]["first"];
  EXPECT_EQ(first["value"]["a"], "sum");
  EXPECT_EQ(first["value"]["b"], "new");
}

TEST_F(Cli, DiffDescendsIntoTheIterationOfALoop) {
  constexpr char kLoop[] = R"(HloModule m
body {
  s = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[2] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  limit = s32[] constant(%s)
  late = pred[] compare(i, limit), direction=GE
  lates = pred[2] broadcast(late), dimensions={}
  up = f32[2] add(v, v)
  down = f32[2] negate(v)
  w = f32[2] select(lates, down, up)
  ROOT t = (s32[], f32[2]) tuple(next, w)
}
condition {
  s = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(6)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[2] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[2]) tuple(zero, x)
  ROOT w = (s32[], f32[2]) while(init), condition=condition, body=body
}
)";
  std::string a = kLoop, b = kLoop;
  a.replace(a.find("%s"), 2, "5");
  b.replace(b.find("%s"), 2, "3");
  const Outcome diff =
      Run("diff --format=json " + Write("a.hlo", a) + " " + Write("b.hlo", b) + " --input 'f32[2]{1,2}'");
  EXPECT_EQ(diff.status, 1) << diff.err;
  const Json first = Json::parse(diff.out)["diff"]["first"];
  // The fourth iteration has i = 3. The limits differ in all of them, but no result depends on that before.
  EXPECT_EQ(first["inside"], Json({"iteration 4 of w"}));
  EXPECT_EQ(first["value"]["a"], "limit");
}

TEST_F(Cli, DiffNamesThePassOfADumpThatChangesTheNumbers) {
  const Outcome text = Run(std::string("diff ") + HLO_RUN_DUMPS + " --random 1");
  EXPECT_EQ(text.status, 1) << text.err;
  EXPECT_HAS(
      text.out,
      "module_0001.jit_f: the results change from 0021.dot-library-passes.after_dot-library-rewriter.before_"
      "pipeline-end\n  to 0024.HLO_passes_after_layout_assignment.after_fusion.before_fusion-wrapper\n");
  EXPECT_HAS(text.out, "in iteration 1 of while.5");
  const Json json = Json::parse(Run(std::string("diff --format=json ") + HLO_RUN_DUMPS + " --random 1").out);
  ASSERT_EQ(json["modules"][0]["changes"].size(), 1u);
  EXPECT_EQ(json["modules"][0]["compared"], 5);
  const Json first = json["modules"][0]["changes"][0]["diff"]["first"];
  EXPECT_EQ(first["value"]["a_text"], "%constant.8 = f32[] constant(0.5)");
  EXPECT_EQ(first["value"]["b_text"], "%constant.2 = f32[] constant(0.25)");
}

TEST_F(Cli, DiffComparesWithRecordedValues) {
  const std::string file = Write("before.hlo", kBefore);
  const std::string recorded = Write("recorded.json", R"({"sum": [2, 3, 5, 6], "square": [4, 9, 20, 36],
    "root": [2, 3, 4.472136, 6], "%r": [1, 2, 2.472136, 4], "other": [1]})");
  const Outcome diff = Run("diff --format=json " + file + " " + recorded + kInputs);
  EXPECT_EQ(diff.status, 1) << diff.err;
  const Json json = Json::parse(diff.out)["diff"];
  EXPECT_EQ(json["compared"], 4);
  EXPECT_EQ(json["unknown_keys"], 1);
  EXPECT_EQ(json["differing"], 3);
  EXPECT_EQ(json["first"]["value"]["a"], "square");
  EXPECT_EQ(json["first"]["confirmed"], true);
  EXPECT_EQ(json["first"]["operands"][0]["a"], "sum");
}

TEST_F(Cli, DiffComparesStructuresWithoutRunning) {
  const std::string files = Write("before.hlo", kBefore) + " " + Write("after.hlo", kFused);
  const Outcome diff = Run("diff --structural --format=json " + files);
  EXPECT_EQ(diff.status, 1) << diff.err;
  const Json json = Json::parse(diff.out)["diff"];
  ASSERT_EQ(json["changed"].size(), 1u);
  EXPECT_EQ(json["changed"][0]["a"], "r");
  EXPECT_EQ(json["changed"][0]["b"], "d");
  EXPECT_EQ(json["same"], 5);
  EXPECT_EQ(Run("diff --structural " + Path("before.hlo") + " " + Path("before.hlo")).out,
            "all 6 instructions are equal\n");
}

// Only t has another type; x, which reads an element of it, is the same.
TEST_F(Cli, DiffIgnoresTypesOfOperandsThatDifferThemselves) {
  const std::string text = R"(ENTRY e {
  a = s32[2] parameter(0)
  b = f32[2] parameter(1)
  c = f32[2] negate(b)
  t = (s32[2], f32[2]) tuple(a, c)
  o = (s32[2], f32[2]) opt-barrier(t)
  x = s32[2] get-tuple-element(o), index=0
  ROOT y = s32[2] negate(x)
}
)";
  std::string wide = text;
  for (size_t at = 0; (at = wide.find("f32", at)) != std::string::npos;) wide.replace(at, 3, "f64");
  const Outcome diff = Run("diff --structural " + Write("f32.hlo", text) + " " + Write("f64.hlo", wide));
  EXPECT_EQ(diff.status, 1) << diff.err;
  EXPECT_EQ(diff.out.find("x: %x"), std::string::npos) << diff.out;
}

TEST_F(Cli, DiffRejectsModulesWithOtherInputs) {
  const Outcome diff = Run("diff " + Write("a.hlo", kBefore) + " " +
                           Write("b.hlo", "ENTRY e {\n  ROOT x = f32[3] parameter(0)\n}\n") + " --random 1");
  EXPECT_EQ(diff.status, 2);
  EXPECT_HAS(diff.err, "the modules cannot run on the same inputs: one has 2 parameters, the other 1");
  EXPECT_EQ(Run("diff " + Path("a.hlo")).status, 2);
}

}  // namespace
}  // namespace hlo::cli_test
