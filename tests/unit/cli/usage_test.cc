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

TEST_F(Cli, FlagsOfOtherToolsNameWhatCorrespondsToThem) {
  const std::string file = Write("add.hlo", kAdd);
  EXPECT_EQ(Run(file + " --input_literals_file=x").err,
            "hlo-run: error: run has no flag '--input_literals_file'; --input gives arguments\n"
            "see hlo-run run --help\n");
  EXPECT_HAS(Run(file + " --iterations 3").err, "; --repeat N evaluates the module N times\n");
}

TEST_F(Cli, MissingFilesAndBadNumbersAreNamed) {
  EXPECT_HAS(Run("verify").err, "error: give at least one FILE, or - for standard input\n");
  EXPECT_HAS(Run(Write("add.hlo", kAdd) + " --random x").err, "error: --random: 'x' is not a valid value\n");
}

}  // namespace
}  // namespace hlo::cli_test
