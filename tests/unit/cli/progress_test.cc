// Tests the progress line on a terminal.

#include <sys/stat.h>

#include <regex>

#include "cli_fixture.h"
#include "terminal.h"

namespace {

using namespace hlo::cli_test;

class ProgressLine : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    if (!Terminal().is_open()) GTEST_SKIP() << "there are no terminals";
  }
  // Returns what the command writes to a terminal as standard error. `before` precedes the command.
  std::string Shown(const std::string& arguments, int status, const std::string& before = "") {
    Terminal terminal;
    const Outcome run = RunShell("( " + before + HLO_RUN_BINARY + " " + arguments + " 2>" + terminal.name() +
                                 " ) >" + Path("stdout"));
    EXPECT_EQ(run.status, status) << arguments << run.err;
    return terminal.Read();
  }
};

// Counts up to a limit that is never reached.
constexpr char kLoop[] = R"(HloModule m
body { p = s64[] parameter(0)  one = s64[] constant(1)  ROOT n = s64[] add(p, one) }
test { p = s64[] parameter(0)  limit = s64[] constant(8000000000000)
  ROOT c = pred[] compare(p, limit), direction=LT }
ENTRY e { zero = s64[] constant(0)  ROOT w = s64[] while(zero), condition=test, body=body }
)";

TEST_F(ProgressLine, ShowsIterationsOfLoopsAndTripCounts) {
  const std::string file = Write("m.hlo", kLoop);
  const std::string fast = Shown(file + " --max-seconds 2.5", 4);
  EXPECT_HAS(fast, " steps, w iteration ");
  EXPECT_HAS(fast, " of 8000000000000, at w (while) 2 of 2 in e");
  EXPECT_HAS(Shown(file + " --engine=reference --max-seconds 2.5", 4), " steps, w iteration ");
  // The trip count is unknown without a counter.
  std::string text = kLoop;
  text.replace(text.find("add(p, one)"), 11, "multiply(p, p)");
  const std::string endless = Shown(Write("n.hlo", text) + " --max-seconds 2.5", 4);
  EXPECT_HAS(endless, " steps, w iteration ");
  EXPECT_EQ(endless.find(" of 8"), std::string::npos) << endless;
}

// Takes some seconds on every machine, and ends earlier by the time limit.
constexpr char kSteady[] = R"(HloModule m
body { p = (s32[], f32[4096]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  x = f32[4096] get-tuple-element(p), index=1  one = s32[] constant(1)  n = s32[] add(i, one)
  y = f32[4096] sine(x)  ROOT t = (s32[], f32[4096]) tuple(n, y) }
test { p = (s32[], f32[4096]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  limit = s32[] constant(20000000)  ROOT c = pred[] compare(i, limit), direction=LT }
ENTRY e { zero = s32[] constant(0)  x = f32[4096] parameter(0)
  begin = (s32[], f32[4096]) tuple(zero, x)
  w = (s32[], f32[4096]) while(begin), condition=test, body=body
  ROOT y = f32[4096] get-tuple-element(w), index=1 }
)";

bool HasRemainingTime(const std::string& shown) {
  return std::regex_search(shown, std::regex("[0-9] (s|min|h)( [0-9]+ (s|min))? left"));
}

TEST_F(ProgressLine, ShowsTheRemainingTimeOfRuns) {
  const std::string file = Write("m.hlo", kSteady);
  for (const std::string engine : {"fast", "reference"}) {
    const std::string shown = Shown(file + " --random 1 --max-seconds 3 --engine=" + engine, 4);
    EXPECT_HAS(shown, " %, ");
    EXPECT_TRUE(HasRemainingTime(shown)) << shown;
    EXPECT_HAS(shown, " of 20000000, at ");
  }
  // Shadow runs are slower, and their remaining time is unknown until they have executed a small part.
  std::string shorter = kSteady;
  shorter.replace(shorter.find("20000000"), 8, "2000000");
  const std::string other = Write("s.hlo", shorter);
  for (const std::string devices : {"", " --replicas 2"}) {
    const std::string shadow = Shown("shadow " + other + " --random 1 --max-seconds 3" + devices, 4);
    EXPECT_HAS(shadow, " of %w: 0 %, ");
    EXPECT_TRUE(HasRemainingTime(shadow)) << shadow;
  }
}

TEST_F(ProgressLine, ShowsTheRemainingTimeOfCases) {
  fs::create_directory(Path("all"));
  for (const std::string name : {"a", "b", "c"}) Write("all/" + name + ".hlo", kAdd);
  const std::string shown =
      Shown("check " + Path("all") +
                " --jobs 1 --against 'sleep 1.2; " HLO_RUN_BINARY " run {hlo} -i {inputs} -o {outputs}'",
            0);
  EXPECT_HAS(shown, ".hlo: 33 % of 3 cases");
  EXPECT_HAS(shown, ".hlo: 66 % of 3 cases, 2 s left");
}

TEST_F(ProgressLine, SaysHowFarAnInterruptedRunIs) {
  const std::string shown = Shown("profile " + Write("m.hlo", kSteady) + " --random 1", 130,
                                  "timeout --foreground --preserve-status -s INT 3 ");
  EXPECT_HAS(shown, "hlo-run: interrupted after ");
  EXPECT_HAS(shown, " %, ");
  EXPECT_HAS(ReadFile(Path("stdout")), "sine");
}

TEST_F(ProgressLine, ShowsFilesThatAreRead) {
  const std::string file = Write("m.hlo", "ENTRY e { ROOT x = f32[2] parameter(0) }");
  EXPECT_HAS(Shown("- -i '{1,2}'", 0, "( sleep 2.5; cat " + file + " ) | "), " s, reading standard input");
  const std::string values = Write("values.txt", "f32[2] {1, 2}\n"), pipe = Path("pipe.txt");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_HAS(Shown(file + " -i x=" + pipe, 0, "( sleep 2.5; cat " + values + " >" + pipe + " ) & "),
             " s, reading " + pipe);
  EXPECT_EQ(ReadFile(Path("stdout")), "f32[2] {1, 2}\n");
}

TEST_F(ProgressLine, ShowsGeneratedArguments) {
  // The line appears after a second, in which fast machines make some hundred million elements.
  std::string shown;
  int64_t count = 60'000'000;
  const auto is_shown = [&] { return shown.find(" s, making argument 2 of 2: ") != std::string::npos; };
  for (; !is_shown() && count < 1'000'000'000; count *= 3) {
    const std::string file = Write("m.hlo", "ENTRY e { x = s8[] parameter(0)  ROOT y = f4e2m1fn[" +
                                                std::to_string(count) + "] parameter(1) }");
    shown = Shown(file + " --random 1 --distribution log-uniform -o " + Path("y.bin"), 0);
  }
  EXPECT_TRUE(is_shown()) << shown;
  EXPECT_HAS(shown, " % of " + std::to_string(count / 3) + " elements");
}

TEST_F(ProgressLine, IsNotShownForShortWorkNorInFiles) {
  const std::string file = Write("m.hlo", kAdd);
  EXPECT_EQ(Shown(file + " --random 1", 0), "");
  const Outcome run = Run(Write("l.hlo", kLoop) + " --max-seconds 1.3");
  EXPECT_EQ(run.err.find('\r'), std::string::npos) << run.err;
}

}  // namespace
