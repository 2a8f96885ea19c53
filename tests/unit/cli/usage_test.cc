// Tests invalid command lines.

#include "cli_fixture.h"

namespace hlo::cli_test {
namespace {

TEST_F(Cli, WithoutArgumentsItPrintsHelp) {
  const Outcome bare = Run("");
  EXPECT_EQ(bare.status, 2);
  EXPECT_EQ(bare.out, "");
  EXPECT_EQ(bare.err, Run("--help").out);
  EXPECT_HAS(bare.err, "Exit status: 0 success");
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
  EXPECT_HAS(Run("check").err, "error: give at least one PATH: ");
  EXPECT_HAS(Run("docs").err, "error: give what to print: man, ");
  EXPECT_HAS(Run("explain").err, "TOPIC: give a rule, an opcode, a pass, or a module and an instruction\n");
  const std::string run = Write("add.hlo", kAdd) + " --random 1";
  const auto error = [&](const std::string& flags) {
    const Outcome outcome = Run(run + " " + flags);
    EXPECT_EQ(outcome.status, 2) << flags;
    EXPECT_EQ(outcome.out, "") << flags;
    return outcome.err;
  };
  EXPECT_HAS(error("--repeat x"), "error: --repeat: Value x is not a number, or is negative\n");
  EXPECT_HAS(error("--max-memory -5"), "--max-memory: '-5' is not a size such as 4096, 64k, 10MB or 2GiB\n");
  EXPECT_HAS(error("--max-memory 10XB"), "--max-memory: '10XB' is not a size such as");
  EXPECT_HAS(error("--max-memory 99999999999999999999"), "is not a size such as");
  EXPECT_HAS(error("--max-seconds nan"), "--max-seconds: 'nan' is not a positive number\n");
  EXPECT_HAS(error("--collective-timeout 0"), "--collective-timeout: '0' is not a positive number\n");
  EXPECT_EQ(Run(run + " --max-memory '1 MB' --max-seconds 60").status, 0);
  EXPECT_HAS(Run("stats --collectives --latency nan " + Path("add.hlo")).err,
             "--latency: 'nan' is not a finite number\n");
}

TEST_F(Cli, SeedsAreNumbersOf64Bits) {
  const std::string file = Write("add.hlo", kAdd);
  for (const std::string seed : {"x", "-1", "1.5", "18446744073709551616"}) {
    const Outcome run = Run(file + " --random " + seed);
    EXPECT_EQ(run.status, 2) << seed;
    EXPECT_HAS(run.err, "error: --random: '" + seed + "' is not a whole number from 0 to 2^64 - 1\n");
  }
  EXPECT_EQ(Run(file + " --random 0x10").out, Run(file + " --random 16").out);
}

TEST_F(Cli, UnknownWordsOfALineAreNamed) {
  const std::string file = Write("add.hlo", kAdd);
  EXPECT_HAS(Run(file + " --random 1 --format=xml").err, "--format: 'xml' is not one of text, json\n");
  EXPECT_HAS(Run(file + " --random 1 --timing=xml").err, "--timing: 'xml' is not json\n");
  EXPECT_HAS(Run(file + " --random 1 --distribution q").err,
             "error: --fill or --distribution: 'q' is not one");
  // A flag that nothing resembles gets no suggestion, and is named although others are missing.
  EXPECT_HAS(Run(file + " --foo").err, "run has no flag '--foo'\n");
  EXPECT_HAS(Run("--foo").err, "run has no flag '--foo'\n");
  EXPECT_HAS(Run("inputs " + file + " --foo").err, "inputs has no flag '--foo'\n");
  EXPECT_HAS(Run("ops dir").err, "there is no opcode 'dir'\n");
}

TEST_F(Cli, FlagsThatWouldHaveNoEffectAreErrors) {
  EXPECT_HAS(Run("ops gather --kernels").err, "error: OPCODE excludes --kernels\n");
  EXPECT_HAS(Run("ops --kernels --custom-calls").err, "excludes --");
  EXPECT_HAS(Run("ops --cases x").err, "error: --cases requires --coverage\n");
  EXPECT_HAS(Run("explain --list gather").err, "error: TOPIC excludes --list\n");
  EXPECT_HAS(Run("docs bash-completion run").err, "bash-completion does not take 'run'\n");
  const std::string file = Write("add.hlo", kAdd);
  const Outcome seed = Run(file + " --random 1 --rng-seed other.hlo=3");
  EXPECT_EQ(seed.status, 2);
  EXPECT_HAS(seed.err, "error: --rng-seed other.hlo=3: there is no module 'other.hlo'\n");
  EXPECT_EQ(Run(file + " --random 1 --rng-seed " + file + "=3").status, 0);
  EXPECT_HAS(Run(file + " --random 1 --infeed x.npz").err, "error: --infeed: there is no file 'x.npz'\n");
  EXPECT_HAS(Run(file + " --random 1 --infeed 'f32[] 1'").err,
             "warning: --infeed f32[] 1 is not used: the module takes 0 values from the host\n");
  EXPECT_HAS(Run(file + " --random 1 --outfeed " + Path("o.npz")).err,
             "o.npz has no values: the module sends none to the host\n");
  EXPECT_HAS(Run(file + " --random 1 --custom-call f=zeros").err,
             "warning: --custom-call f is not used: the module has no call of it\n");
  EXPECT_HAS(Run(file + " --random 1 --per-device q").err, "--per-device: the entry computation has no");
  EXPECT_HAS(Run(file + " --random 1 --shard-by no.hlo").err, "--shard-by: cannot read 'no.hlo'");
}

TEST_F(Cli, FilesThatAreMissingOrEmptyAreNamed) {
  const std::string file = Write("add.hlo", kAdd);
  EXPECT_HAS(Run("explain no.hlo %r").err, "error: cannot read 'no.hlo': No such file or directory\n");
  EXPECT_HAS(Run("explain " + file + " a b").err, "TOPIC: takes one instruction of a module\n");
  EXPECT_HAS(Run(file + " -i {1,2} -i ''").err, "an empty text is neither a literal nor a file\n");
  fs::create_directory(Path("empty"));
  EXPECT_HAS(Run("check " + Path("empty")).err, "no cases below " + Path("empty") + "\n");
  const Outcome full = RunTo("/dev/full", "graph " + file);
  EXPECT_EQ(full.status, 4);
  EXPECT_EQ(full.err, "hlo-run: error: cannot write to standard output: No space left on device\n");
}

}  // namespace
}  // namespace hlo::cli_test
