// Tests `hlo-run minimize` and `hlo-run slice`.

#include "cli_fixture.h"
#include "nlohmann/json.hpp"

namespace hlo::cli_test {
namespace {

using Json = nlohmann::json;

// log(0) gives -inf, and -inf - -inf a NaN, within a fusion, after a loop, among other results.
constexpr char kNan[] = R"(HloModule m
body {
  s = (s32[], f32[8,16]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[8,16] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  half = f32[] constant(0)
  halves = f32[8,16] broadcast(half), dimensions={}
  w = f32[8,16] multiply(v, halves)
  ROOT t = (s32[], f32[8,16]) tuple(next, w)
}
condition {
  s = (s32[], f32[8,16]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT l = pred[] compare(i, n), direction=LT
}
fused {
  p = f32[8,16] parameter(0)
  l = f32[8,16] log(p)
  ROOT d = f32[8,16] subtract(l, l)
}
ENTRY e {
  x = f32[8,16] parameter(0)
  y = f32[8,16] parameter(1)
  a = f32[8,16] add(x, y)
  zero = s32[] constant(0)
  init = (s32[], f32[8,16]) tuple(zero, a)
  loop = (s32[], f32[8,16]) while(init), condition=condition, body=body
  z = f32[8,16] get-tuple-element(loop), index=1
  f = f32[8,16] fusion(z), kind=kLoop, calls=fused
  g = f32[8,16] tanh(f)
  h = f32[8,16] cosine(y)
  ROOT r = (f32[8,16], f32[8,16]) tuple(g, h)
}
)";

TEST_F(Cli, MinimizeKeepsTheInstructionsThatProduceANan) {
  const Outcome outcome = Run("minimize --format=json --judge-nan " + Write("m.hlo", kNan) +
                              " --random 1 -j 2 -o " + Path("small"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  // The difference of an infinite input and itself, of one element: the logarithm's value is recorded.
  EXPECT_EQ(json["instructions"][1], 2) << json["text"];
  EXPECT_EQ(json["elements"][1], 1) << json["text"];
  EXPECT_EQ(json["finished"], true);
  const std::string text = ReadFile(Path("small/module.hlo"));
  EXPECT_HAS(text, "subtract(");
  EXPECT_EQ(Run("check " + Path("small")).status, 0);
  EXPECT_HAS(Run(Path("small/module.hlo") + " --input " + Path("small/inputs.npz")).out, "nan");
}

// A case whose input is the NaN itself would be smaller, but would not show the instruction that produced it.
TEST_F(Cli, MinimizeKeepsTheOriginOfANan) {
  const std::string file = Write("m.hlo", R"(HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] negate(x)
  l = f32[4] log(y)
  ROOT r = f32[4] exponential(l)
}
)");
  ASSERT_EQ(Run("minimize --judge-nan " + file + " -i '{1,-1,-2,-3}' -o " + Path("small")).status, 0);
  const std::string text = ReadFile(Path("small/module.hlo"));
  EXPECT_HAS(text, " log(");
  EXPECT_EQ(text.find("exponential"), std::string::npos) << text;
  EXPECT_HAS(Run(Path("small/module.hlo") + " --input " + Path("small/inputs.npz")).out, "nan");
  // An input that is NaN already is all that its NaN needs.
  ASSERT_EQ(Run("minimize --judge-nan " + file + " -i '{1,nan,1,1}' -o " + Path("given")).status, 0);
  EXPECT_HAS(ReadFile(Path("given/module.hlo")), " parameter(0)\n}");
}

TEST_F(Cli, MinimizeAsksACommandAndResumes) {
  const std::string file = Write("m.hlo", kNan);
  const std::string judge =
      " --judge 'grep -q cosine {} && echo x >>" + Path("calls") + "' --random 1 -j 1 -o " + Path("small");
  ASSERT_EQ(Run("minimize " + file + judge).status, 0);
  const std::string text = ReadFile(Path("small/module.hlo"));
  EXPECT_HAS(text, "cosine(");
  EXPECT_EQ(text.find("while"), std::string::npos);
  EXPECT_EQ(text.find("tanh"), std::string::npos);
  // The second run continues with the result and does not judge rejected candidates again.
  const Outcome again = Run("minimize --format=json " + file + judge);
  ASSERT_EQ(again.status, 0) << again.err;
  const Json json = Json::parse(again.out);
  EXPECT_EQ(json["resumed"], true);
  EXPECT_EQ(ReadFile(Path("small/module.hlo")), text);
  // Another judge does not continue it.
  const Outcome other = Run("minimize " + file + " --judge 'true {}' --random 1 -o " + Path("small"));
  EXPECT_EQ(other.status, 2);
  EXPECT_HAS(other.err, "holds the progress of another module or judge");
}

constexpr char kDead[] = R"(HloModule m
ENTRY e {
  x = f32[8,16] parameter(0)
  y = f32[8,16] parameter(1)
  a = f32[8,16] add(x, y)
  b = f32[8,16] tanh(a)
  c = f32[8,16] cosine(b)
  d = f32[8,16] abs(c)
  p = f32[8,16] multiply(b, y)
  q = f32[8,16] negate(p)
  ROOT r = f32[8,16] subtract(q, a)
}
)";

// Dead code that the judge needs becomes a result.
TEST_F(Cli, MinimizeReducesACaseWhoseDeadCodeTheJudgeNeeds) {
  const std::string options = " --random 1 -j 1 -o " + Path("small") + " --judge 'grep -q cosine {}'";
  const Outcome outcome = Run("minimize --format=json " + Write("m.hlo", kDead) + options);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["instructions"], Json({9, 2}));
  EXPECT_HAS(ReadFile(Path("small/module.hlo")), "ROOT %c = f32[1,1]{1,0} cosine(");
}

// The judge accepts the dead code only as such, so that the rest is reduced around it.
TEST_F(Cli, MinimizeKeepsCodeDead) {
  const Outcome outcome =
      Run("minimize --format=json " + Write("m.hlo", kDead) + " --random 1 -j 1 -o " + Path("small") +
          " --judge 'grep -q cosine {} && ! grep -q \"ROOT.*\\(cosine\\|tuple\\)\" {}'");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string text = ReadFile(Path("small/module.hlo"));
  EXPECT_HAS(text, " cosine(");
  for (const char* removed : {"abs(", "multiply(", "negate(", "subtract("})
    EXPECT_EQ(text.find(removed), std::string::npos) << text;
}

// Judges may be slow. Trying every part alone, and all steps again after each pass, would take 145
// candidates.
TEST_F(Cli, MinimizeJudgesFewCandidates) {
  std::string text = "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n";
  std::string shapes, results;
  for (int i = 0; i < 32; ++i) {
    const std::string number = std::to_string(i), operand = i == 0 ? "x" : "a" + std::to_string(i / 2);
    text += "  a" + number + " = f32[4] add(" + operand + ", x)\n  c" + number + " = f32[4] " +
            (i % 3 == 0 ? "cosine" : "sine") + "(a" + number + ")\n";
    shapes += (i == 0 ? "" : ", ") + std::string("f32[4]");
    results += (i == 0 ? "c" : ", c") + number;
  }
  text += "  ROOT r = (" + shapes + ") tuple(" + results + ")\n}\n";
  const Outcome outcome = Run("minimize --format=json " + Write("m.hlo", text) + " --random 1 -j 1 -o " +
                              Path("small") + " --judge 'test $(grep -c \" cosine(\" {}) -ge 6'");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["instructions"][1], 13);
  EXPECT_LT(json["judged"], 125);
}

TEST_F(Cli, MinimizeComparesWithRecordedResults) {
  const std::string file = Write("m.hlo", R"(HloModule m
ENTRY e {
  x = f32[3] parameter(0)
  a = f32[3] negate(x)
  b = f32[3] exponential(a)
  c = f32[3] add(b, a)
  ROOT r = (f32[3], f32[3]) tuple(b, c)
}
)");
  // The second result is wrong.
  const std::string recorded =
      Write("out.json", R"({"0": [0.36787945, 0.13533528, 0.04978707], "1": [1, 2, 3]})");
  const Outcome outcome = Run("minimize --format=json " + file + " --input 'f32[3]{1,2,3}' --judge-diff " +
                              recorded + " -o " + Path("small"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string text = ReadFile(Path("small/module.hlo"));
  EXPECT_HAS(text, "add(");
  EXPECT_EQ(text.find("exponential"), std::string::npos) << text;
  // The expected values are the recorded ones, so the case fails.
  EXPECT_EQ(Run("check " + Path("small")).status, 1);
}

TEST_F(Cli, MinimizeRejectsACaseThatTheJudgeDoesNotAccept) {
  const Outcome outcome =
      Run("minimize --judge-nan " + Write("m.hlo", kAdd) + " --random 1 -o " + Path("small"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_HAS(outcome.err, "the judge does not accept the given module: its result contains no NaN");
  const auto reason = [&](const std::string& judge) {
    return Run("minimize " + Path("m.hlo") + " --random 1 -o " + Path("small") + " " + judge).err;
  };
  ASSERT_EQ(Run(Path("m.hlo") + " --random 1 -o " + Path("same.npz")).status, 0);
  EXPECT_HAS(reason("--judge-diff " + Path("same.npz")), ": its results agree with 1 array of '");
  EXPECT_HAS(reason("--judge-diff " + Write("other.json", R"({"other": [1]})")), "has no array for '");
  EXPECT_HAS(reason("--judge 'echo why; false {}'"), ": the command ended with exit status 1\nwhy");
  EXPECT_HAS(reason("--judge 'kill -SEGV $$ {}'"), ": the command ended by signal 11");
  EXPECT_HAS(reason("--judge-against 'cp " + Path("same.npz") + " {outputs} # {hlo}'"),
             ": the results of the command agree");
  EXPECT_HAS(reason("--judge-against 'true {hlo} {outputs}'"), "outputs.npz: cannot be read");
  const Outcome missing =
      Run("minimize " + Path("m.hlo") + " --random 1 --judge 'no-such-judge {}' -o " + Path("none"));
  EXPECT_EQ(missing.status, 2);
  EXPECT_HAS(missing.err, "the judge cannot run: exit status 127");
  EXPECT_EQ(Run("minimize " + Path("m.hlo") + " --random 1 -o " + Path("small")).status, 2);
}

// case.json and the state of a reduction hold the names of files.
TEST_F(Cli, MinimizeAndSliceAcceptFileNamesThatAreNotUtf8) {
  const std::string file = Write("m\xff.hlo", kNan);
  const std::string reduce = "minimize --judge 'true \xff {}' " + file + " --random 1 -o " + Path("small");
  ASSERT_EQ(Run(reduce).status, 0);
  const Outcome resumed = Run(reduce);
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  const Outcome slice = Run("slice --root %w --random 1 " + file + " -o " + Path("case"));
  EXPECT_EQ(slice.status, 0) << slice.err;
  EXPECT_EQ(Run("check " + Path("case")).status, 0);
}

TEST_F(Cli, SliceWritesACaseForAnInstructionInALoop) {
  const std::string file = Write("m.hlo", kNan);
  ASSERT_EQ(Run("slice " + file + " --root %w --height 1 --execution 2 --random 1 -o " + Path("case")).status,
            0);
  EXPECT_EQ(Run("check " + Path("case")).status, 0);
  EXPECT_HAS(ReadFile(Path("case/module.hlo")), "multiply(");
  const Outcome unknown = Run("slice " + file + " --root %ww --random 1 -o " + Path("case"));
  EXPECT_EQ(unknown.status, 2);
  EXPECT_HAS(unknown.err, "there is no instruction 'ww'");
}

}  // namespace
}  // namespace hlo::cli_test
