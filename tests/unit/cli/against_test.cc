// Tests `hlo-run check --against` with drivers that are this program, or fail.

#include "cli_fixture.h"
#include "nlohmann/json.hpp"

namespace hlo::cli_test {
namespace {

using Json = nlohmann::json;

constexpr char kCases[] = R"(// The sum.
// run
ENTRY e {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT r = f32[2] add(x, y)
}
// in   {1, 2}
// in   {3, 4}
// out  {4, 6}
// -----
// A result that is wrong.
// run
ENTRY e {
  x = f32[2] parameter(0)
  ROOT r = f32[2] negate(x)
}
// in   {1, 2}
// out  {-1, 2}
// -----
// Only checked.
// check
ENTRY e {
  ROOT x = f32[2] parameter(0)
}
)";

class Against : public Cli {
 protected:
  // Returns the verdicts in order.
  std::vector<std::string> Verdicts(const std::string& paths, const std::string& driver,
                                    const std::string& more = "") {
    const Outcome outcome = Run("check --format=json " + paths + " --against '" + driver + "' " + more);
    status_ = outcome.status;
    std::vector<std::string> verdicts;
    json_ = Json::parse(outcome.out, nullptr, false);
    EXPECT_FALSE(json_.is_discarded()) << outcome.out << outcome.err;
    if (json_.is_discarded()) return {};
    for (const Json& one : json_["cases"]) verdicts.push_back(one["verdict"]);
    return verdicts;
  }
  const std::string self_ = std::string(HLO_RUN_BINARY) + " run {hlo} --input {inputs} --output {outputs}";
  int status_ = -1;
  Json json_;
};

TEST_F(Against, CasesAndModulesAreComparedWithTheCommand) {
  fs::create_directory(folder_ / "all");
  Write("all/cases.hlo", kCases);
  Write("all/module.hlo", kAdd);
  EXPECT_EQ(Verdicts(Path("all"), self_),
            (std::vector<std::string>{"passed", "failed", "skipped", "passed"}));
  EXPECT_EQ(status_, 1);
  EXPECT_EQ(Verdicts(Path("all/module.hlo"), self_), (std::vector<std::string>{"passed"}));
  EXPECT_EQ(status_, 0);
}

TEST_F(Against, CrashesTimeoutsAndRefusalsAreDistinguished) {
  const std::string file = Write("m.hlo", kAdd);
  EXPECT_EQ(Verdicts(file, "kill -SEGV $$ # {hlo} {outputs}"), (std::vector<std::string>{"crashed"}));
  EXPECT_EQ(Verdicts(file, "sleep 60 # {hlo} {outputs}", "--max-seconds 0.3"),
            (std::vector<std::string>{"timed out"}));
  EXPECT_EQ(Verdicts(file, "echo no; exit 3 # {hlo} {outputs}"), (std::vector<std::string>{"refused"}));
  EXPECT_EQ(json_["cases"][0]["report"], "exit status 3\nno\n");
  EXPECT_EQ(Verdicts(file, "true # {hlo} {outputs}"), (std::vector<std::string>{"refused"}));
  EXPECT_EQ(status_, 1);
}

TEST_F(Against, ACommandThatCannotRunIsAnError) {
  const std::string file = Write("m.hlo", kAdd);
  const Outcome missing = Run("check " + file + " --against 'no-such-driver {hlo} {outputs}'");
  EXPECT_EQ(missing.status, 2);
  EXPECT_HAS(missing.err, "error: the command cannot run: exit status 127");
  EXPECT_HAS(missing.err, "no-such-driver");
  EXPECT_EQ(missing.out, "");
  const Outcome refused = Run("check " + file + " --against 'exit 1; {hlo} {outputs}'");
  EXPECT_EQ(refused.status, 1);
  EXPECT_HAS(refused.out, "the command has given no results at all: check that it runs");
}

TEST_F(Against, ADriverWithOtherValuesFails) {
  const std::string other = Write("other.hlo", R"(HloModule m
ENTRY e {
  a = f32[2] parameter(0)
  b = f32[2] parameter(1)
  ROOT r = f32[2] subtract(a, b)
}
)");
  const std::string driver =
      std::string(HLO_RUN_BINARY) + " run " + other + " --input {inputs} --output {outputs} # {hlo}";
  EXPECT_EQ(Verdicts(Write("m.hlo", kAdd), driver), (std::vector<std::string>{"failed"}));
}

// The divisor may be 0, so that no bound explains the difference.
TEST_F(Against, AResultWithoutABoundFailsIfItDiffers) {
  const std::string file = Write("pole.hlo", R"(HloModule m
ENTRY e {
  x = f32[1] constant({1})
  y = f32[1] constant({0.84147098})
  s = f32[1] sine(x)
  d = f32[1] subtract(s, y)
  ROOT r = f32[1] divide(x, d)
}
)");
  const std::string other = Write("five.hlo", "ENTRY e {\n  ROOT r = f32[1] constant({5})\n}\n");
  EXPECT_EQ(
      Verdicts(file, std::string(HLO_RUN_BINARY) + " run " + other + " --output {outputs} # {hlo} {inputs}"),
      (std::vector<std::string>{"failed"}));
  EXPECT_HAS(json_["cases"][0]["report"].get<std::string>(), "output 0: not judged: no element has a bound");
  EXPECT_EQ(Verdicts(file, self_), (std::vector<std::string>{"passed"}));
}

TEST_F(Against, ReportsAreJUnitAndOnePage) {
  const Outcome outcome = Run("check " + Write("cases.hlo", kCases) + " --against '" + self_ + "' --junit " +
                              Path("r.xml") + " --html " + Path("r.html"));
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_HAS(outcome.out, "1 passed, 1 failed, 1 skipped");
  EXPECT_HAS(ReadFile(Path("r.xml")), "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\"");
  EXPECT_HAS(ReadFile(Path("r.xml")), "<failure type=\"failed\"");
  EXPECT_HAS(ReadFile(Path("r.html")), "A result that is wrong.");
  EXPECT_EQ(Run("check " + Path("cases.hlo") + " --against 'true {hlo}'").status, 2);
}

}  // namespace
}  // namespace hlo::cli_test
