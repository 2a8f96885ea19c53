// Tests the command line: output, streams and exit status.

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <vector>

#include "cli_fixture.h"
#include "nlohmann/json.hpp"

namespace {

using namespace hlo::cli_test;

TEST_F(Cli, FileAloneMeansRun) {
  const Outcome run = Run(Write("add.hlo", kAdd) + " --input 'f32[2]{1,2}' -i 'f32[2] {0.5, 10}'");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "f32[2] {1.5, 12}\n");
  EXPECT_EQ(run.err, "");
}

TEST_F(Cli, ReadsStandardInputAndNamedArguments) {
  const Outcome run =
      Run("run - --input b='f32[2]{1,2}' --input a='f32[2]{3,4}' < " + Write("add.hlo", kAdd));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "f32[2] {4, 6}\n");
}

TEST_F(Cli, UnknownOpcodeIsLocatedAndSuggestsTheRightOne) {
  const Outcome run = Run(
      "verify " +
      Write("m.hlo", "HloModule m\nENTRY e {\n  a = f32[2] parameter(0)\n  ROOT r = f32[2] negatee(a)\n}\n"));
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_HAS(run.err, "m.hlo:4:19: error: ");
  EXPECT_HAS(run.err, "negatee");
  EXPECT_HAS(run.err, "did you mean 'negate'?");
  EXPECT_HAS(run.err, "^~~~~~~");
}

TEST_F(Cli, AWrongShapeShowsBothShapesAndFailsVerification) {
  const Outcome run = Run("verify " + Write("m.hlo",
                                            "HloModule m\nENTRY e {\n  a = f32[2,3] parameter(0)\n  ROOT t = "
                                            "f32[2,3] transpose(a), dimensions={1,0}\n}\n"));
  EXPECT_EQ(run.status, 1);
  EXPECT_HAS(run.err, "m.hlo:4:");
  EXPECT_HAS(run.err, "f32[3,2]");
  EXPECT_HAS(run.err, "f32[2,3]");
  const Outcome evaluated = Run(Path("m.hlo") + " --random 1");
  EXPECT_EQ(evaluated.status, 2) << "for run, an invalid module is bad input";
}

TEST_F(Cli, MissingOperandIsAnError) {
  const Outcome run =
      Run("verify " +
          Write("m.hlo", "HloModule m\nENTRY e {\n  a = f32[2] parameter(0)\n  ROOT r = f32[2] add(a)\n}\n"));
  EXPECT_EQ(run.status, 2);
  EXPECT_HAS(run.err, "m.hlo:4:");
  EXPECT_HAS(run.err, "add");
}

TEST_F(Cli, TruncatedFilesNameTheUnclosedBracket) {
  const Outcome run =
      Run(Write("m.hlo", "HloModule m\nENTRY e {\n  a = f32[2] parameter(0)\n  b = f32[2] neg"));
  EXPECT_EQ(run.status, 2);
  EXPECT_HAS(run.err, "m.hlo:4:");
  EXPECT_HAS(run.err, "error: ");
}

TEST_F(Cli, BinaryFilesAreRejected) {
  std::string bytes(
      "\x7f"
      "ELF\0\1\2\3",
      8);
  for (int i = 0; i < 4000; ++i) bytes.push_back(static_cast<char>(i * 37));
  EXPECT_HAS(Run(Write("elf.hlo", bytes)).err, "elf.hlo: is not an HLO module: it is an ELF file");
  const Outcome run = Run(Write("m.hlo", bytes.substr(0, 1) + bytes));
  EXPECT_EQ(run.status, 2);
  EXPECT_HAS(run.err, "m.hlo:1:1: error: ");
  EXPECT_EQ(run.err.find('\x7f'), std::string::npos) << "control bytes never reach the terminal";
}

TEST_F(Cli, InputOfAnotherShapeOrTypeNamesParameterAndBoth) {
  const std::string file = Write("add.hlo", kAdd);
  const Outcome shape = Run(file + " --input 'f32[3]{1,2,3}' --input 'f32[2]{1,2}'");
  EXPECT_EQ(shape.status, 2);
  EXPECT_HAS(shape.err, "f32[3]");
  EXPECT_HAS(shape.err, "f32[2]");
  const Outcome type = Run(file + " --input 's32[2]{1,2}' --input 'f32[2]{1,2}'");
  EXPECT_EQ(type.status, 2);
  EXPECT_HAS(type.err, "s32[2]");
  EXPECT_HAS(type.err, "f32[2]");
  const Outcome none = Run(file);
  EXPECT_EQ(none.status, 2);
  EXPECT_HAS(none.err, "takes 2 arguments");
  EXPECT_HAS(none.err, "0: a f32[2]");
  const Outcome one = Run(file + " --input 'f32[2]{1,2}'");
  EXPECT_EQ(one.status, 2);
  EXPECT_HAS(one.err, "b");
}

TEST_F(Cli, UnreadableFilesAreNamed) {
  const Outcome missing = Run(Path("none.hlo"));
  EXPECT_EQ(missing.status, 2);
  EXPECT_HAS(missing.err, "none.hlo");
  EXPECT_HAS(missing.err, "No such file");
  const Outcome input = Run(Write("add.hlo", kAdd) + " --input " + Path("x.npy") + " --input 'f32[2]{1,2}'");
  EXPECT_EQ(input.status, 2);
  EXPECT_HAS(input.err, "x.npy");
  const Outcome empty_folder = Run("verify " + folder_.string() + "/none");
  EXPECT_EQ(empty_folder.status, 2);
}

TEST_F(Cli, UnwritableOutputIsNamedAndLeavesNoFile) {
  const std::string file = Write("add.hlo", kAdd);
  const Outcome run = Run(file + " --random 1 --output " + Path("no/such/folder/out.npz"));
  EXPECT_EQ(run.status, 2);
  EXPECT_HAS(run.err, "no/such/folder/out.npz");
  const Outcome unknown = Run(file + " --random 1 --output " + Path("out.xyz"));
  EXPECT_EQ(unknown.status, 2);
  EXPECT_HAS(unknown.err, ".npz");
  EXPECT_FALSE(fs::exists(Path("out.xyz")));
}

TEST_F(Cli, ParameterOfTenToTheFifteenBytesIsALimit) {
  const std::string file = Write("m.hlo",
                                 "HloModule m\nENTRY e {\n  a = u8[1000000,1000000,1000] parameter(0)\n  "
                                 "ROOT r = u8[1000000,1000000,1000] add(a, a)\n}\n");
  const Outcome run = Run(file + " --random 1");
  EXPECT_EQ(run.status, 4);
  EXPECT_HAS(run.err, "1000000000000000");
  EXPECT_HAS(run.err, "memory");
  EXPECT_EQ(Run("verify " + file).status, 0) << "the module itself is valid";
}

TEST_F(Cli, LimitsOfStepsTimeAndMemoryEndARun) {
  const std::string loop = Write("loop.hlo", R"(HloModule m
c { p = s32[] parameter(0)  z = s32[] constant(-1)  ROOT r = pred[] compare(p, z), direction=GT }
b { p = s32[] parameter(0)  k = s32[] constant(0)  ROOT r = s32[] multiply(p, k) }
ENTRY e { p = s32[] parameter(0)  ROOT w = s32[] while(p), condition=c, body=b }
)");
  const Outcome steps = Run(loop + " --input 's32[] 1' --max-steps 10000");
  EXPECT_EQ(steps.status, 4);
  EXPECT_HAS(steps.err, "10000");
  const Outcome seconds = Run(loop + " --input 's32[] 1' --max-seconds 0.2");
  EXPECT_EQ(seconds.status, 4);
  const Outcome memory =
      Run(Write("m.hlo",
                "ENTRY e { a = f32[] parameter(0) ROOT r = f32[1000,1000] broadcast(a), dimensions={} }") +
          " --random 1 --max-memory 1MB");
  EXPECT_EQ(memory.status, 4);
  EXPECT_HAS(memory.err, "4000000");
}

TEST_F(Cli, LimitsEndEmptyLoops) {
  const std::string constant = R"(c { p = s32[] parameter(0)  ROOT t = pred[] constant(true) }
)";
  const std::map<std::string, std::string> modules = {
      {"empty", constant + R"(b { ROOT p = s32[] parameter(0) }
ENTRY e { p = s32[] parameter(0)  ROOT w = s32[] while(p), condition=c, body=b }
)"},
      {"nested", constant + R"(b { ROOT p = s32[] parameter(0) }
o { p = s32[] parameter(0)  ROOT w = s32[] while(p), condition=c, body=b }
ENTRY e { p = s32[] parameter(0)  ROOT w = s32[] while(p), condition=c, body=o }
)"},
      {"moves", R"(c { p = (s32[], s32[]) parameter(0)  ROOT t = pred[] constant(true) }
b { p = (s32[], s32[]) parameter(0)  x = s32[] get-tuple-element(p), index=0
  y = s32[] get-tuple-element(p), index=1  ROOT r = (s32[], s32[]) tuple(y, x) }
ENTRY e { p = s32[] parameter(0)  q = s32[] negate(p)  i = (s32[], s32[]) tuple(p, q)
  ROOT w = (s32[], s32[]) while(i), condition=c, body=b }
)"},
      {"counted", R"(c { p = s64[] parameter(0)  n = s64[] constant(1000000000000)
  ROOT t = pred[] compare(p, n), direction=LT }
b { p = s64[] parameter(0)  o = s64[] constant(1)  ROOT r = s64[] add(p, o) }
ENTRY e { p = s32[] parameter(0)  z = s64[] convert(p)  ROOT w = s64[] while(z), condition=c, body=b }
)"},
  };
  for (const auto& [name, text] : modules) {
    const std::string file = Write(name + ".hlo", text);
    for (const std::string engine : {"", " --engine=reference", " --device=emulated-gpu"}) {
      const std::string run = file + engine + " --input 's32[] 1'";
      EXPECT_EQ(Run(run + " --max-steps 1000").status, 4) << name << engine;
      EXPECT_EQ(Run(run + " --max-seconds 0.1").status, 4) << name << engine;
    }
  }
}

TEST_F(Cli, UnboundAsyncArgumentsAreAnError) {
  const std::string file = Write("m.hlo", R"(f { x = (f32[2]) parameter(0)
  g = f32[2] get-tuple-element(x), index=0  ROOT n = f32[2] negate(g) }
ENTRY e { a = () tuple()
  s = ((()), (), s32[]) async-start(a), calls=f
  u = (((f32[2])), f32[2], s32[]) async-update(s)
  ROOT d = f32[2] async-done(u) }
)");
  for (const std::string engine : {"", " --engine=reference"}) {
    const Outcome run = Run(file + engine);
    EXPECT_EQ(run.status, 2);
    EXPECT_HAS(run.err, "has not received all of its arguments");
  }
}

TEST_F(Cli, ArraysWithBoundsAreReadAndPrintedWithTheirSizes) {
  const std::string file = Write("m.hlo", R"(ENTRY e { a = f32[<=5] parameter(0)
  ROOT r = f32[<=5] add(a, a) }
)");
  for (const std::string engine : {"", " --engine=reference"}) {
    for (const std::string input : {"f32[<=5](3) {1,2,3}", "f32[<=5] {1,2,3}", "f32[3] {1,2,3}"}) {
      const Outcome run = Run(file + engine + " --input '" + input + "'");
      EXPECT_EQ(run.status, 0) << run.err;
      EXPECT_EQ(run.out, "f32[<=5](3) {2, 4, 6}\n") << input;
    }
    EXPECT_EQ(Run(file + engine + " --input 'f32[5] {1,2,3,4,5}'").out, "f32[<=5](5) {2, 4, 6, 8, 10}\n");
  }
  EXPECT_EQ(Run(file + " --input 'f32[6] {1,2,3,4,5,6}'").status, 2);
  EXPECT_EQ(Run(file + " --input 'f32[<=5] {1,2,3,4,5,6}'").status, 2);
  EXPECT_EQ(Run(file + " --input 'f32[<=5](2) {1,2,3}'").status, 2);
  for (const std::string ending : {".npy", ".npz", ".safetensors", ".txt"}) {
    const std::string output = Path("out" + ending);
    ASSERT_EQ(Run(file + " --input 'f32[3] {1,2,3}' --output " + output).status, 0);
    EXPECT_EQ(Run(file + " --input " + output).out, "f32[<=5](3) {4, 8, 12}\n") << ending;
  }
}

TEST_F(Cli, AMemoryLimitThatAConstantHitsIsALimit) {
  std::string elements = "1";
  for (int i = 1; i < 100000; ++i) elements += ",1";
  for (const std::string& value : {elements, std::string("7")}) {
    const std::string braced = value.size() > 1 ? "{" + value + "}" : value;
    const std::string file = Write("m.hlo", "ENTRY e { ROOT r = f32[100000] constant(" + braced + ") }\n");
    for (const std::string command : {"", "verify ", "print "}) {
      const Outcome run = Run(command + file + " --max-memory 100KB");
      EXPECT_EQ(run.status, 4) << command;
      EXPECT_HAS(run.err, "400000 bytes do not fit into memory");
    }
  }
  const std::string file = Write("p.hlo", "ENTRY e { ROOT r = f32[100000] parameter(0) }\n");
  const std::string input = Write("in.txt", "f32[100000] {" + elements + "}\n");
  EXPECT_EQ(Run(file + " --max-memory 100KB --input " + input).status, 4);
}

TEST_F(Cli, AFullDiskIsALimit) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  const std::string file =
      Write("m.hlo", "ENTRY e { a = f32[] parameter(0) ROOT r = f32[20000] broadcast(a), dimensions={} }\n");
  for (const std::string& command :
       {file + " --input 'f32[] 1'", file + " --input 'f32[] 1' --format=json", "print " + file,
        "plan " + file, std::string("ops"), std::string("docs man"), std::string("--help")}) {
    const Outcome run = RunTo("/dev/full", command);
    EXPECT_EQ(run.status, 4) << command;
    EXPECT_HAS(run.err, "cannot write to standard output: No space left on device");
  }
}

TEST_F(Cli, DeepNestingIsRejectedWithoutACrash) {
  std::string text = "ENTRY e { a = ";
  for (int i = 0; i < 200000; ++i) text += "(";
  const Outcome run = Run("verify " + Write("deep.hlo", text));
  EXPECT_EQ(run.status, 2);
  EXPECT_HAS(run.err, "deep.hlo:1:");
}

TEST_F(Cli, SeveralFilesGiveALineEachAndTheWorstStatus) {
  Write("1.hlo", kAdd);
  Write("2.hlo", "HloModule broken {");
  Write("3.hlo", "ENTRY e { ROOT c = f32[] constant(1) }");
  const Outcome run = Run("verify " + folder_.string());
  EXPECT_EQ(run.status, 2);
  std::istringstream lines(run.out);
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["status"], "ok");
  EXPECT_EQ(rows[1]["status"], "invalid");
  EXPECT_EQ(rows[1]["errors"].size(), 1u);
  EXPECT_EQ(rows[1]["errors"][0]["line"], 1);
  EXPECT_EQ(rows[2]["status"], "ok");
}

TEST_F(Cli, TimingIsAJsonLine) {
  const Outcome run = Run(Write("add.hlo", kAdd) + " --random 3 --repeat 3 --timing=json");
  ASSERT_EQ(run.status, 0) << run.err;
  const auto row = nlohmann::json::parse(run.out);
  for (const char* key : {"parse_s", "check_s", "plan_s", "first_run_s", "run_s", "peak_bytes"}) {
    EXPECT_TRUE(row[key].is_number()) << key;
  }
  EXPECT_EQ(row["runs"], 3);
}

TEST_F(Cli, GeneratedInputFilesAreReadBack) {
  const std::string file = Write("add.hlo", kAdd);
  for (const char* name : {"in.npz", "in.safetensors"}) {
    ASSERT_EQ(Run("inputs " + file + " --random 5 --output " + Path(name)).status, 0) << name;
    const Outcome from_file = Run(file + " --input " + Path(name));
    EXPECT_EQ(from_file.status, 0) << from_file.err;
    EXPECT_EQ(from_file.out, Run(file + " --random 5").out) << name;
  }
}

TEST_F(Cli, JsonHoldsTheValues) {
  const Outcome run = Run(
      Write(
          "m.hlo",
          "ENTRY e { c = f32[2] constant({1, nan}) ROOT t = (f32[2], s32[]) tuple(c, s32[] constant(7)) }") +
      " --format=json");
  ASSERT_EQ(run.status, 0) << run.err;
  const auto row = nlohmann::json::parse(run.out);
  EXPECT_EQ(row["result"], "(f32[2], s32[])");
  EXPECT_TRUE(row.contains("outputs"));
  EXPECT_EQ(Run(Path("m.hlo") + " --fail-on-nan").status, 1);
}

TEST_F(Cli, PrintIsAFixedPoint) {
  const std::string file = Write("add.hlo", kAdd);
  const Outcome once = Run("print " + file);
  ASSERT_EQ(once.status, 0) << once.err;
  EXPECT_EQ(Run("print " + Write("again.hlo", once.out)).out, once.out);
  EXPECT_EQ(Run("print " + file + " --output " + Path("out.txt")).out, "");
  EXPECT_EQ(ReadFile(Path("out.txt")), once.out);
  const Outcome near = Run("print " + file + " --computation ee");
  EXPECT_EQ(near.status, 2);
  EXPECT_HAS(near.err, "did you mean 'e'?");
}

TEST_F(Cli, StrictRejectsOldSpellings) {
  const std::string file =
      Write("old.hlo",
            "HloModule m\nENTRY e {\n  a = f32[2] parameter(0)\n  ROOT r = pred[2] greater-than(a, a)\n}\n");
  const Outcome lenient = Run("verify " + file);
  EXPECT_EQ(lenient.status, 0) << lenient.err;
  EXPECT_HAS(lenient.err, "warning: ");
  EXPECT_EQ(Run("verify --strict " + file).status, 2);
}

TEST_F(Cli, BadUsageExitsWithStatus2) {
  EXPECT_EQ(Run("").status, 2);
  EXPECT_EQ(Run("verify").status, 2);
  EXPECT_EQ(Run("verify --no-such-flag x.hlo").status, 2);
  EXPECT_EQ(Run("run x.hlo --engine=quantum").status, 2);
  EXPECT_EQ(Run("ops no-such-op").status, 2);
}

TEST_F(Cli, PassesAreListedAndCanBeDisabled) {
  const Outcome passes = Run("plan --passes");
  EXPECT_EQ(passes.status, 0) << passes.err;
  EXPECT_HAS(passes.out, "loop_fusion");
  EXPECT_HAS(passes.out, "in_place_aliasing");
  const std::string file =
      Write("m.hlo",
            "HloModule m\nENTRY e {\n  x = f32[64] parameter(0)\n  n = f32[64] negate(x)\n"
            "  ROOT r = f32[64] add(n, n)\n}\n");
  EXPECT_EQ(Run("plan " + file).out.find("loop 'n'"), std::string::npos);
  EXPECT_HAS(Run("plan --disable-pass loop-fusion --disable-pass=sibling_fusion " + file).out, "loop 'n'");
  // An option takes one word; files and other options may follow.
  EXPECT_EQ(Run("run --disable-pass loop_fusion " + file + " --random 1").status, 0);
  const Outcome unknown = Run("run --random 1 --disable-pass loop_fussion " + file);
  EXPECT_EQ(unknown.status, 2);
  EXPECT_HAS(unknown.err, "no pass 'loop_fussion'; did you mean 'loop_fusion'?");
  const Outcome required = Run("check --disable-pass flatten " + file);
  EXPECT_EQ(required.status, 2);
  EXPECT_HAS(required.err, "the pass 'flatten' cannot be disabled");
}

TEST_F(Cli, PassesStopAfterALimitOfChanges) {
  const std::string file =
      Write("m.hlo",
            "HloModule m\nENTRY e {\n  x = f32[64] parameter(0)\n  n = f32[64] negate(x)\n"
            "  s = f32[64] sine(n)\n  ROOT r = f32[64] add(s, x)\n}\n");
  const std::string none = Run("plan --pass-limit 0 " + file).out;
  EXPECT_HAS(none, "loop 'n'");
  EXPECT_HAS(none, "loop 's'");
  EXPECT_HAS(none, "changes 0\n");
  const std::string one = Run("plan --pass-limit 1 " + file).out;
  EXPECT_HAS(one, "loop 'n'");
  EXPECT_EQ(one.find("loop 's'"), std::string::npos);
  EXPECT_HAS(one, "changes 1; the last one is loop_fusion of 's'\n");
  const std::string two = Run("plan --pass-limit 2 " + file).out;
  EXPECT_EQ(two.find("loop 'n'"), std::string::npos);
  EXPECT_HAS(two, "changes 2; the last one is loop_fusion of 'n'\n");
  // The planner validates the plan of every limit, and the results are the same.
  const std::string result = Run("run --random 1 " + file).out;
  for (int limit = 0; limit < 6; ++limit)
    EXPECT_EQ(Run("run --random 1 --pass-limit " + std::to_string(limit) + " " + file).out, result);
  EXPECT_EQ(Run("plan --pass-limit -1 " + file).status, 2);
}

TEST_F(Cli, HelpManualAndCompletionComeFromTheSameFlags) {
  const Outcome help = Run("run --help");
  EXPECT_EQ(help.status, 0);
  EXPECT_HAS(help.out, "--max-steps");
  EXPECT_HAS(help.out, "--engine NAME:{fast, reference}=fast");
  const Outcome unknown = Run("run m.hlo --engine=quick");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_HAS(unknown.err, "'quick' is not one of fast, reference");
  EXPECT_HAS(help.out, "Examples:");
  EXPECT_HAS(Run("docs man").out, ".TH HLO");
  const Outcome man = Run("docs man run");
  EXPECT_HAS(man.out, ".TH HLO\\-RUN\\-RUN 1");
  EXPECT_HAS(man.out, "\\-\\-max\\-steps");
  const Outcome completion = Run("docs bash-completion");
  EXPECT_HAS(completion.out, "--max-steps");
  EXPECT_EQ(std::system(("bash -n " + Write("completion", completion.out)).c_str()), 0);
  EXPECT_HAS(Run("docs zsh-completion").out, "--max-steps[");
  EXPECT_HAS(Run("docs fish-completion").out, "-l max-steps -r");
}

TEST_F(Cli, DocsAreStoredInTheStandardFolders) {
  ASSERT_EQ(Run("docs tree " + (folder_ / "share").string()).status, 0);
  const fs::path share = folder_ / "share";
  EXPECT_HAS(ReadFile(share / "man/man1/hlo-run.1"), "hlo\\-run\\-verify");
  EXPECT_HAS(ReadFile(share / "man/man1/hlo-run-verify.1"), "layout\\-sensitive");
  EXPECT_HAS(ReadFile(share / "bash-completion/completions/hlo-run"), "--layout-sensitive");
  EXPECT_HAS(ReadFile(share / "zsh/site-functions/_hlo-run"), "--layout-sensitive[");
  EXPECT_HAS(ReadFile(share / "fish/vendor_completions.d/hlo-run.fish"), "-l layout-sensitive");
  EXPECT_EQ(Run("docs man no-such-command").status, 2);
  EXPECT_EQ(Run("docs tree").status, 2);
}

TEST_F(Cli, VersionNamesTheBuild) {
  const Outcome version = Run("--version");
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.out.rfind("hlo-run ", 0), 0u);
  for (const char* field : {"commit: ", "compiler: ", "instructions: ", "CUDA: ", "MPI: "})
    EXPECT_HAS(version.out, field);
}

TEST_F(Cli, OpsListsEveryOpcode) {
  const Outcome ops = Run("ops --format=json");
  EXPECT_EQ(std::count(ops.out.begin(), ops.out.end(), '\n'), 137);
  const auto gather = nlohmann::json::parse(Run("ops gather --format=json").out);
  EXPECT_EQ(gather["operands"], "2");
  EXPECT_EQ(gather["required"].size(), 5u);
}

constexpr char kFeeds[] = R"(HloModule m
ENTRY e {
  t = token[] after-all()
  a = ((f32[2], s32[]), token[]) infeed(t)
  p = (f32[2], s32[]) get-tuple-element(a), index=0
  u = token[] get-tuple-element(a), index=1
  b = (f32[2], token[]) infeed(u)
  x = f32[2] get-tuple-element(p), index=0
  y = f32[2] get-tuple-element(b), index=0
  z = f32[2] add(x, y)
  v = token[] get-tuple-element(b), index=1
  o = token[] outfeed(z, v), outfeed_shape=f32[2]
  n = s32[] get-tuple-element(p), index=1
  q = token[] outfeed(n, o), outfeed_shape=s32[]
  ROOT r = f32[2] negate(z)
}
)";

TEST_F(Cli, InfeedAndOutfeedGoThroughFiles) {
  const std::string file = Write("feeds.hlo", kFeeds);
  const std::string text = Path("out.txt");
  const Outcome run =
      Run(file + " --infeed '(f32[2]{1,2}, s32[] 7)' --infeed 'f32[2]{10,20}' --outfeed " + text);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "f32[2] {-11, -22}\n");
  EXPECT_HAS(ReadFile(text), "{11, 22}");
  EXPECT_HAS(ReadFile(text), "7");
  // An infeed reads what an outfeed has written.
  const std::string archive = Path("out.npz");
  EXPECT_EQ(
      Run(file + " --infeed '(f32[2]{1,2}, s32[] 7)' --infeed 'f32[2]{10,20}' --outfeed " + archive).status,
      0);
  const std::string reader =
      Write("reader.hlo",
            "ENTRY e { t = token[] after-all() a = (f32[2], token[]) infeed(t) "
            "u = token[] get-tuple-element(a), index=1 b = (s32[], token[]) infeed(u) "
            "x = f32[2] get-tuple-element(a), index=0 n = s32[] get-tuple-element(b), index=0 "
            "ROOT r = (f32[2], s32[]) tuple(x, n) }");
  EXPECT_HAS(Run(reader + " --infeed " + archive).out, "{11, 22}");
}

TEST_F(Cli, AMissingInfeedIsAnErrorThatNamesTheFlag) {
  const std::string file = Write("feeds.hlo", kFeeds);
  const Outcome none = Run(file);
  EXPECT_EQ(none.status, 2);
  EXPECT_HAS(none.err,
             "feeds.hlo:4:34: error: 'a' (((f32[2], s32[]), token[]) infeed): takes a value from the host");
  EXPECT_HAS(none.err, "--infeed");
  const Outcome one = Run(file + " --infeed '(f32[2]{1,2}, s32[] 7)'");
  EXPECT_EQ(one.status, 2);
  EXPECT_HAS(one.err, "takes value 2 from the host, but --infeed gives 1");
}

constexpr char kCall[] = R"(ENTRY e {
  a = f32[2,3] parameter(0)
  b = s32[] parameter(1)
  ROOT r = (f32[2,3]{0,1}, s32[]) custom-call(a, b), custom_call_target="scale_and_count"
}
)";

TEST_F(Cli, ALibraryComputesCustomCalls) {
  const std::string file = Write("call.hlo", kCall);
  const std::string values = " --input 'f32[2,3] {{1,2,3},{4,5,6}}' --input 's32[] 10'";
  const Outcome unknown = Run(file + values);
  EXPECT_EQ(unknown.status, 3);
  EXPECT_HAS(unknown.err, "the target 'scale_and_count' is not known");
  const Outcome run = Run(file + values + " --custom-call-library " HLO_RUN_TEST_LIBRARY);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_HAS(run.out, "{ 10, 20, 30 }, { 40, 50, 60 }");
  EXPECT_HAS(run.out, "s32[] 6");
  const Outcome missing = Run(file + values + " --custom-call-library " + Path("none.so"));
  EXPECT_EQ(missing.status, 2);
  EXPECT_HAS(missing.err, "cannot load the library");
}

TEST_F(Cli, AModuleComputesCustomCalls) {
  const std::string file = Write("call.hlo", kCall);
  const std::string body = Write("body.hlo",
                                 "ENTRY f { x = f32[2,3] parameter(0) n = s32[] parameter(1) "
                                 "y = f32[2,3] negate(x) ROOT t = (f32[2,3], s32[]) tuple(y, n) }");
  const Outcome run =
      Run(file +
          " --input 'f32[2,3] {{1,2,3},{4,5,6}}' --input 's32[] 10' --custom-call scale_and_count=" + body);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_HAS(run.out, "{ -1, -2, -3 }");
  EXPECT_EQ(Run(file + " --random 1 --custom-call scale_and_count").status, 2);
}

TEST_F(Cli, OpsListsTheTargetsOfCustomCalls) {
  const Outcome ops = Run("ops --custom-calls");
  EXPECT_HAS(ops.out, "Sharding");
  EXPECT_HAS(ops.out, "X[*,n] -> X[*,k], s32[*,k]");
}

TEST_F(Cli, OpsListsTheKernels) {
  const Outcome text = Run("ops --kernels");
  EXPECT_HAS(text.out,
             "\nscan                      Scan                 -                  Scan               "
             "HasScalarCode\n");
  EXPECT_HAS(Run("ops --kernels --format=markdown").out, "\n| `fft` | Fft | Fft | - | HasFftTypes |\n");
  const Outcome json = Run("ops --kernels --format=json");
  EXPECT_HAS(json.out,
             R"({"opcode":"map","cpu":"-","gpu":"-","gpu_to_apply":"Map","condition":"HasScalarCode"})");
}

TEST_F(Cli, CoverageComesFromTheCheckerTheEnginesAndTheCases) {
  const Outcome json = Run("ops --coverage --format=json --cases tests/cases/ops/negate.hlo");
  EXPECT_EQ(json.status, 0);
  const size_t at = json.out.find("{\"name\":\"negate\"");
  ASSERT_NE(at, std::string::npos);
  const auto negate = nlohmann::json::parse(json.out.substr(at, json.out.find('\n', at) - at));
  EXPECT_TRUE(negate["types"]["s8"]["tested"]);
  EXPECT_FALSE(negate["types"]["s1"]["tested"]);
  EXPECT_EQ(negate["types"]["s8"]["engines"][0], "reference");
  EXPECT_FALSE(negate["types"].contains("pred"));  // pred is invalid for negate.
  EXPECT_HAS(Run("ops --coverage").out, "\nnegate                      . O O");
  EXPECT_EQ(Run("ops --coverage --cases no/such/folder").status, 2);
}

TEST_F(Cli, StatsCountWork) {
  const std::string file = Write("dot.hlo",
                                 "ENTRY e { a = f32[4,8] parameter(0) b = f32[8,16] parameter(1) ROOT d = "
                                 "f32[4,16] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }");
  const auto row = nlohmann::json::parse(Run("stats --format=json " + file).out);
  EXPECT_EQ(row["flops"], 2 * 4 * 8 * 16);
  EXPECT_EQ(row["parameter_bytes"], 4 * (4 * 8 + 8 * 16));
  EXPECT_EQ(row["peak_bytes"], 4 * (4 * 8 + 8 * 16 + 4 * 16));
  EXPECT_EQ(row["opcodes"]["dot"], 1);
}

TEST_F(Cli, ProfileCountsRunsAndWork) {
  const std::string file = Write("loop.hlo", R"(HloModule m
more {
  t = (s32[], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  n = s32[] constant(7)
  ROOT c = pred[] compare(i, n), direction=LT
}
step {
  t = (s32[], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[8,8] get-tuple-element(t), index=1
  y = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT u = (s32[], f32[8,8]) tuple(next, y)
}
ENTRY e {
  x = f32[8,8] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[8,8]) tuple(zero, x)
  w = (s32[], f32[8,8]) while(t), condition=more, body=step
  ROOT r = f32[8,8] get-tuple-element(w), index=1
}
)");
  for (const std::string engine : {"fast", "reference"}) {
    const Outcome run = Run("profile " + file + " --fill zeros --format=json --engine " + engine +
                            " --trace " + Path("trace.json"));
    EXPECT_EQ(run.status, 0) << run.err;
    const auto row = nlohmann::json::parse(run.out);
    EXPECT_EQ(row["engine"], engine);
    bool found = false;
    for (const auto& step : row["steps"]) {
      if (step["instruction"] != "y") continue;
      found = true;
      EXPECT_EQ(step["opcode"], "dot");
      EXPECT_EQ(step["runs"], 7);
      EXPECT_EQ(step["flops"], 7 * 2 * 8 * 8 * 8);
      EXPECT_EQ(step["bytes"], 7 * (256 + 256 + 256));
      EXPECT_GT(step["seconds"], 0);
    }
    EXPECT_TRUE(found) << run.out;
    const auto trace = nlohmann::json::parse(ReadFile(Path("trace.json")));
    int64_t dots = 0;
    for (const auto& event : trace["traceEvents"]) dots += event["name"] == "y" && event["ph"] == "X";
    EXPECT_EQ(dots, 7);
  }
  const Outcome table = Run("profile " + file + " --fill zeros --top 1");
  EXPECT_HAS(table.out, "GFLOP/s");
  EXPECT_HAS(table.out, "more (see --top)");
}

TEST_F(Cli, ARunBeyondTheMemoryLimitIsRejectedBeforeItStarts) {
  const std::string file = Write("wide.hlo", R"(ENTRY e {
  a = f32[] parameter(0)
  b = f32[1000,1000] broadcast(a), dimensions={}
  i = f32[1000,1000] iota(), iota_dimension=0
  c = f32[1000,1000] atan2(b, i)
  ROOT d = f32[1000,1000] dot(c, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)");
  const Outcome run = Run(file + " --input 'f32[] 1' --max-memory 5000000");
  EXPECT_EQ(run.status, 4);
  EXPECT_HAS(run.err, "the run takes 8000000 bytes besides its arguments");
  EXPECT_EQ(Run(file + " --input 'f32[] 1' --max-memory 9000000 --output " + Path("d.npz")).status, 0);
}

TEST_F(Cli, PrintKeepsTheOrderOfComputations) {
  const std::string text = R"(HloModule m, entry_computation_layout={(f32[])->f32[]}

%second (a: f32[]) -> f32[] {
  ROOT %a = f32[] parameter(0)
}

%first (b: f32[]) -> f32[] {
  ROOT %b = f32[] parameter(0)
}

ENTRY %e (x: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %late = f32[] constant(1)
  %y = f32[] call(%x), to_apply=%first
  %z = f32[] call(%y), to_apply=%second
  ROOT %r = f32[] add(%z, %late)
}

)";
  EXPECT_EQ(Run("print " + Write("order.hlo", text)).out, text);
  EXPECT_NE(Run("print --as-xla " + Path("order.hlo")).out, text);
}

TEST_F(Cli, SnapshotsRunOnTheirOwnArgumentsAndAreGolden) {
  const Outcome run = Run("tests/unit/io/data/snapshot.pb");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "f32[2,2] { { 201, 2010 }, { 403, 4030 } }\n");
  EXPECT_EQ(Run("check tests/unit/io/data/snapshot.pb").status, 0);
  const Outcome wrong = Run("check tests/unit/io/data/wrong_snapshot.pb");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_HAS(wrong.out, "4031");
  const Outcome print = Run("print tests/unit/io/data/snapshot.pb");
  EXPECT_HAS(print.out, "ROOT %d = f32[2,2]{1,0} dot(%a, %b), lhs_contracting_dims={1}");
}

TEST_F(Cli, ElidedConstantsNeedAFlag) {
  const std::string file = Write(
      "m.hlo", "HloModule m\nENTRY e {\n  c = s32[3] constant({...})\n  ROOT r = s32[3] negate(c)\n}\n");
  const Outcome refused = Run(file);
  EXPECT_EQ(refused.status, 2);
  EXPECT_HAS(refused.err, "m.hlo:3:");
  EXPECT_HAS(refused.err, "--elided=zeros, random or counter, or --elided=c=FILE");
  EXPECT_EQ(Run(file + " --elided=counter").out, "s32[3] {0, -1, -2}\n");
  EXPECT_EQ(Run(file + " --elided=zeros --elided c=" + Write("c.txt", "{4,5,6}")).out,
            "s32[3] {-4, -5, -6}\n");
  const Outcome unknown = Run(file + " --elided=ones");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_HAS(unknown.err, "random:SEED");
}

TEST_F(Cli, RawBytesHaveTheEntryLayout) {
  const std::string file =
      Write("m.hlo",
            "HloModule m, entry_computation_layout={(u8[2,3]{0,1})->u8[2,3]{1,0:T(2,2)}}\n"
            "ENTRY e {\n  a = u8[2,3]{0,1} parameter(0)\n  ROOT r = u8[2,3] copy(a)\n}\n");
  const Outcome run = Run(file + " --input " + Write("a.bin", "abcdef") + " --output " + Path("r.bin"));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(ReadFile(Path("r.bin")), std::string("acbde\0f\0", 8));
  const Outcome wrong = Run(file + " --input " + Write("b.bin", "abc"));
  EXPECT_EQ(wrong.status, 2);
  EXPECT_HAS(wrong.err, "has 3 bytes, expected 6");
}

TEST_F(Cli, RunsOnAGpuOrReportsThatThereIsNone) {
  const std::string file = Write("add.hlo", kAdd) + " --input 'f32[2]{1,2}' -i 'f32[2] {0.5, 10}'";
  const Outcome devices = Run("devices --format=json");
  EXPECT_EQ(devices.status, 0) << devices.err;
  const nlohmann::json found = nlohmann::json::parse(devices.out);
  EXPECT_GT(found["cpu"]["threads"], 0);
  const Outcome gpu = Run(file + " --device=gpu");
  if (found["gpus"].empty()) {
    EXPECT_EQ(gpu.status, 3);
    EXPECT_HAS(gpu.err, found["no_gpu"].get<std::string>());
  } else {
    EXPECT_EQ(gpu.status, 0) << gpu.err;
    EXPECT_EQ(gpu.out, "f32[2] {1.5, 12}\n");
  }
  EXPECT_EQ(Run(file + " --device=gpu --engine=reference").status, 2);
  // Several numbers in one argument, which ends the flag.
  EXPECT_EQ(Run(file + " --gpu=1,2").err, Run(file + " --gpu 1").err);
  EXPECT_EQ(Run("--gpu 1,2 " + file).err, Run("--gpu 1 " + file).err);
  const Outcome last = Run(file + " --gpu=1023");
  EXPECT_EQ(last.status, found["gpus"].empty() ? 3 : 2);
  EXPECT_HAS(last.err, found["gpus"].empty() ? "no " : "there is no GPU 1023: this machine has");
  const Outcome negative = Run(file + " --gpu=-1");
  EXPECT_EQ(negative.status, 2);
  EXPECT_HAS(negative.err, "-1 not in range");
}

TEST_F(Cli, TheEmulatedGpuReportsCpuFallbacks) {
  const Outcome run = Run(Write("m.hlo",
                                "ENTRY e {\n  a = f32[2,2] parameter(0)\n"
                                "  c = (f32[2], f32[2], c64[2,2], c64[2,2], s32[]) custom-call(a), "
                                "custom_call_target=\"lapack_sgeev_ffi\",\n"
                                "    api_version=API_VERSION_TYPED_FFI, backend_config={compute_left = 86 : "
                                "ui8, compute_right = 86 : "
                                "ui8}\n"
                                "  ROOT b = s32[] get-tuple-element(c), index=4\n}\n") +
                          " --input 'f32[2,2]{{4,0},{0,9}}' --device=emulated-gpu --explain-fallbacks");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "s32[] 0\n");
  EXPECT_EQ(run.err,
            "1 of the plan's steps ran on the CPU\n"
            "  custom-call c: no kernel takes this custom-call (1 run, 100 bytes copied)\n");
  // Custom calls of the caller run on the CPU.
  const Outcome supplied = Run(
      Write(
          "t.hlo",
          "ENTRY e { a = f32[2] parameter(0) ROOT b = f32[2] custom-call(a), custom_call_target=\"t\" }\n") +
      " --input '{1,2}' --custom-call t=identity --device=emulated-gpu --explain-fallbacks");
  EXPECT_EQ(supplied.out, "f32[2] {1, 2}\n");
  EXPECT_HAS(supplied.err, "custom-call b: no kernel takes this custom-call");
}

}  // namespace
