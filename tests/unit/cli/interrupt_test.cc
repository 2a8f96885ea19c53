// Tests that an interrupted command ends with what is known so far.

#include <filesystem>

#include "cli_fixture.h"

namespace hlo::cli_test {
namespace {

// Counts up to a limit that is never reached; %x changes in every iteration.
constexpr char kLoop[] = R"(HloModule m
body {
  p = (s64[], f32[8]) parameter(0)
  i = s64[] get-tuple-element(p), index=0
  x = f32[8] get-tuple-element(p), index=1
  one = s64[] constant(1)
  n = s64[] add(i, one)
  y = f32[8] sine(x)
  ROOT r = (s64[], f32[8]) tuple(n, y)
}
test {
  p = (s64[], f32[8]) parameter(0)
  i = s64[] get-tuple-element(p), index=0
  limit = s64[] constant(8000000000000)
  ROOT c = pred[] compare(i, limit), direction=LT
}
ENTRY e {
  zero = s64[] constant(0)
  a = f32[8] parameter(0)
  t = (s64[], f32[8]) tuple(zero, a)
  w = (s64[], f32[8]) while(t), condition=test, body=body
  ROOT r = f32[8] get-tuple-element(w), index=1
}
)";
constexpr int kInterrupted = 130;

class Interrupt : public Cli {
 protected:
  // Interrupts the command after two seconds.
  Outcome Interrupted(const std::string& arguments) {
    return RunShell("timeout --foreground --preserve-status -s INT -k 30 2 " + std::string(HLO_RUN_BINARY) +
                    " " + arguments + " >" + Path("stdout"));
  }
};

TEST_F(Interrupt, EndsRunsOfBothEngines) {
  const std::string file = Write("m.hlo", kLoop);
  for (const std::string engine : {"fast", "reference"}) {
    const Outcome run = Interrupted("run " + file + " --random 1 --engine " + engine);
    EXPECT_EQ(run.status, kInterrupted) << run.err;
    EXPECT_HAS(run.err, "Ctrl-C again ends at once");
    EXPECT_HAS(run.err, "interrupted");
    EXPECT_EQ(run.out, "");
  }
}

// Only the elements that are generated before the interruption are in memory.
TEST_F(Interrupt, EndsTheGenerationOfArguments) {
  const std::string file = Write("m.hlo", "ENTRY e {\n  ROOT x = s8[1500000000] parameter(0)\n}\n");
  const Outcome inputs = Interrupted("inputs " + file + " --random 1 -o " + Path("x.npz"));
  EXPECT_EQ(inputs.status, kInterrupted) << inputs.err;
  EXPECT_HAS(inputs.err, "parameter 0 'x': cancelled");
  EXPECT_FALSE(fs::exists(Path("x.npz")));
}

TEST_F(Interrupt, KeepsTheValuesOfATrace) {
  const std::string file = Write("m.hlo", kLoop);
  const Outcome run =
      Interrupted("trace " + file + " --random 1 --match '^y$' --max-records 3 -o " + Path("values.npz"));
  EXPECT_EQ(run.status, kInterrupted) << run.err;
  EXPECT_HAS(run.out, "%y = f32[8] sine");
  EXPECT_TRUE(std::filesystem::exists(Path("values.npz")));
}

TEST_F(Interrupt, KeepsTheErrorsOfAShadowRun) {
  const std::string file = Write("m.hlo", kLoop);
  for (const std::string devices : {"", " --replicas 2"}) {
    const Outcome run = Interrupted("shadow " + file + " --random 1" + devices);
    EXPECT_EQ(run.status, kInterrupted) << run.err;
    EXPECT_HAS(run.out, "%y sine");
  }
}

TEST_F(Interrupt, KeepsTheProfileOfTheSteps) {
  const Outcome run = Interrupted("profile " + Write("m.hlo", kLoop) + " --random 1 --csv " + Path("p.csv"));
  EXPECT_EQ(run.status, kInterrupted) << run.err;
  EXPECT_HAS(run.out, "under observation");
  EXPECT_HAS(run.out, "while w");
  EXPECT_HAS(run.out, "sine y");
  EXPECT_HAS(ReadFile(Path("p.csv")), "sine");
}

TEST_F(Interrupt, KeepsTheValuesOfAGraph) {
  // The values before the loop are known when its body runs.
  const Outcome run = Interrupted("graph " + Write("m.hlo", kLoop) + " --random 1 -o " + Path("m.html"));
  EXPECT_EQ(run.status, kInterrupted) << run.err;
  EXPECT_HAS(ReadFile(Path("m.html")), "<!doctype html>");
}

TEST_F(Interrupt, KeepsTheAlignmentAndTheChangesOfADiff) {
  const std::string file = Write("m.hlo", kLoop);
  const Outcome run = Interrupted("diff " + file + " " + file + " --random 1");
  EXPECT_EQ(run.status, kInterrupted) << run.err;
  EXPECT_HAS(run.out, "values are aligned");
  EXPECT_HAS(run.out, "the results were not compared");
  // Two dumps differ, the third one does not end.
  constexpr char kSum[] = "ENTRY e { a = f32[8] parameter(0)  ROOT s = f32[8] add(a, a) }";
  constexpr char kSquare[] = "ENTRY e { a = f32[8] parameter(0)  ROOT s = f32[8] multiply(a, a) }";
  fs::create_directory(Path("dump"));
  Write("dump/module_0001.m.before_optimizations.txt", kSum);
  Write("dump/module_0001.m.0001.p.after_one.before_two.txt", kSquare);
  Write("dump/module_0001.m.0002.p.after_two.before_three.txt", kLoop);
  // Recorded values: the comparison waits for the loop.
  const Outcome recorded = Interrupted(
      "diff " + file + " " + Write("values.json", R"({"r": [0, 0, 0, 0, 0, 0, 0, 0]})") + " --random 1");
  EXPECT_EQ(recorded.status, kInterrupted) << recorded.err;
  EXPECT_HAS(recorded.out, "0 of 1 recorded values of values.json were compared");
  const Outcome passes = Interrupted("diff " + Path("dump") + " --random 1");
  EXPECT_EQ(passes.status, kInterrupted) << passes.err;
  EXPECT_HAS(passes.out, "the results change from before_optimizations");
  EXPECT_HAS(passes.out, "changes of the module that were compared: 1");
}

TEST_F(Interrupt, KeepsTheSmallestCase) {
  const std::string file = Write("m.hlo",
                                 "ENTRY e { x = f32[8] parameter(0)  y = f32[8] sine(x)  "
                                 "ROOT z = f32[8] negate(y) }");
  const Outcome run =
      Interrupted("minimize " + file + " --random 1 --jobs 1 --judge 'test -e " + Path("seen") +
                  " && sleep 60; touch " + Path("seen") + "; test -e {}' -o " + Path("small"));
  EXPECT_EQ(run.status, kInterrupted) << run.err;
  EXPECT_HAS(run.out, "stopped early");
  EXPECT_TRUE(std::filesystem::exists(Path("small") + "/module.hlo"));
}

TEST_F(Interrupt, KeepsTheVerdictsOfOtherImplementations) {
  const std::string file = Write("m.hlo", "ENTRY e { ROOT x = f32[2] parameter(0) }");
  const Outcome run = Interrupted("check " + file + " --against 'sleep 60; true {hlo} {inputs} {outputs}'");
  EXPECT_EQ(run.status, kInterrupted) << run.err;
}

}  // namespace
}  // namespace hlo::cli_test
