// Tests invalid command lines.

#include "cli_fixture.h"

namespace hlo::cli_test {
namespace {

TEST_F(Cli, WithoutArgumentsItPrintsHelp) {
  const Outcome bare = Run("");
  EXPECT_EQ(bare.status, 2);
  EXPECT_EQ(bare.out, Run("--help").out);
  EXPECT_HAS(bare.out, "Exit status: 0 success");
}

TEST_F(Cli, MisspelledSubcommandsAndFlagsGetASuggestion) {
  const Outcome command = Run("verfy m.hlo");
  EXPECT_EQ(command.status, 2);
  EXPECT_EQ(command.err,
            "hlo-run: error: 'verfy' is neither a subcommand nor a file; did you mean 'verify'?\n");
  const std::string file = Write("add.hlo", kAdd);
  const Outcome flag = Run("run " + file + " --inptu=x.npy");
  EXPECT_EQ(flag.status, 2);
  EXPECT_EQ(flag.err,
            "hlo-run: error: run has no flag '--inptu'; did you mean '--input'?\nsee hlo-run run --help\n");
  EXPECT_EQ(Run("verify " + file + " --quantum").err,
            "hlo-run: error: verify has no flag '--quantum'\nsee hlo-run verify --help\n");
  const Outcome value = Run("run " + file + " --engine=quantum");
  EXPECT_EQ(value.status, 2);
  EXPECT_HAS(value.err, "hlo-run: error: --engine: 'quantum' is not one of fast, reference\n");
  EXPECT_EQ(Run("zebra").err, "hlo-run: error: cannot read 'zebra': No such file or directory\n");
}

}  // namespace
}  // namespace hlo::cli_test
