// Tests outputs: output folders, abbreviated text on a terminal, statistics.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "cli_fixture.h"
#include "nlohmann/json.hpp"
#include "terminal.h"

namespace {

using namespace hlo::cli_test;

constexpr char kConstant[] = "ENTRY e { ROOT c = f32[2] constant({1,2}) }";

TEST_F(Cli, AnOutputDirectoryMirrorsTheInputs) {
  fs::create_directories(Path("dumps/a/deep"));
  fs::create_directories(Path("dumps/b"));
  for (const std::string name : {"dumps/a/m.hlo", "dumps/b/m.hlo", "dumps/a/deep/n.x.hlo", "dumps/top.hlo"})
    Write(name, kConstant);
  const std::string results = Path("results/of today");
  const Outcome run = Run(Path("dumps") + " -o '" + results + "/'");
  EXPECT_EQ(run.status, 0) << run.err;
  for (const std::string name : {"a/m.npz", "b/m.npz", "a/deep/n.x.npz", "top.npz"})
    EXPECT_TRUE(fs::exists(results + "/" + name)) << name;
  EXPECT_HAS(run.out, "of today/a/m.npz");
  // Outputs keep their paths relative to the common folder of the inputs; an existing directory needs no
  // slash.
  const std::string again = Path("again");
  fs::create_directory(again);
  EXPECT_EQ(Run(Path("dumps/a/m.hlo") + " " + Path("dumps/b/m.hlo") + " -o " + again).status, 0);
  EXPECT_TRUE(fs::exists(again + "/a/m.npz"));
  EXPECT_TRUE(fs::exists(again + "/b/m.npz"));
  EXPECT_EQ(Run("- -o " + again + " <" + Path("dumps/top.hlo")).status, 0);
  EXPECT_TRUE(fs::exists(again + "/stdin.npz"));
}

TEST_F(Cli, OutputsOfOneNameDoNotOverwriteEachOther) {
  const std::string file = Write("m.hlo", kConstant);
  Write("m.txt", "ENTRY e { ROOT c = f32[2] constant({3,4}) }");
  const std::string out = Path("out/");
  EXPECT_EQ(Run(file + " " + Path("m.txt") + " " + file + " -o " + out).status, 0);
  const std::string reader = Write("r.hlo", "ENTRY e { ROOT x = f32[2] parameter(0) }");
  EXPECT_EQ(Run(reader + " -i x=" + out + "m.npz").out, "f32[2] {1, 2}\n");
  EXPECT_EQ(Run(reader + " -i x=" + out + "m.txt.npz").out, "f32[2] {3, 4}\n");
  EXPECT_TRUE(fs::exists(out + "m.hlo.npz"));
  const Outcome blocked = Run(file + " -o " + file + "/");
  EXPECT_EQ(blocked.status, 2);
  EXPECT_HAS(blocked.err, "cannot create the directory");
  EXPECT_EQ(Run(file + " " + Path("m.txt") + " -o " + Path("one.npz")).status, 2);
}

TEST_F(Cli, AnOutputFileHoldsOneModule) {
  fs::create_directory(Path("dumps"));
  Write("dumps/a.hlo", kConstant);
  Write("dumps/b.hlo", kConstant);
  const std::string two = Write("two.hlo", std::string(kConstant) + "\n// -----\n" + kConstant);
  const std::string out = Path("out.npz"), text = Path("out.hlo");
  for (const std::string& command :
       {"run " + two + " -o " + out, "print " + two + " -o " + text, "print " + Path("dumps") + " -o " + text,
        "inputs " + two + " -o " + out, "extract " + two + " --instruction c -o " + text}) {
    const Outcome run = Run(command);
    EXPECT_EQ(run.status, 2) << command;
    EXPECT_HAS(run.err, "takes the result of one");
  }
  EXPECT_FALSE(fs::exists(out) || fs::exists(text));
}

TEST_F(Cli, OutputsIntoAPipeLeaveItInPlace) {
  const std::string file = Write("m.hlo", kConstant), pipe = Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_EQ(Run("print " + file + " -o " + pipe).status, 0);
  char text[512];
  const ssize_t count = read(reader, text, sizeof(text));
  close(reader);
  EXPECT_EQ(std::string(text, std::max<ssize_t>(count, 0)), Run("print " + file).out);
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(Cli, ArchivesRequireARegularFile) {
  const std::string file = Write("m.hlo", kConstant), pipe = Path("pipe.npz");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  const Outcome run = Run(file + " --output " + pipe);
  close(reader);
  EXPECT_NE(run.status, 0);
  EXPECT_HAS(run.err, "an .npz archive requires a regular file, but this is a device or a pipe");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(Cli, LargeResultsAreAbbreviatedOnATerminal) {
  const std::string file = Write("m.hlo",
                                 "ENTRY e { a = s32[1001] iota(), iota_dimension=0 b = s32[1000] iota(), "
                                 "iota_dimension=0 c = s32[2,600] iota(), iota_dimension=1 "
                                 "ROOT t = (s32[1001], s32[1000], s32[2,600]) tuple(a, b, c) }");
  Terminal terminal, second;
  if (!terminal.is_open()) GTEST_SKIP() << "there are no terminals";
  ASSERT_EQ(RunTo(terminal.name(), file).status, 0);
  const std::string shown = terminal.Read();
  EXPECT_HAS(shown, "s32[1001] {0, 1, 2, ..., 998, 999, 1000}");
  EXPECT_HAS(shown, "s32[1000] {0, 1, 2, 3, 4,");
  EXPECT_HAS(shown, "s32[2,600] { { 0, 1, 2, ..., 597, 598, 599 }, { 0, 1, 2, ..., 597, 598, 599 } }");
  const std::string all = Run(file).out;
  EXPECT_EQ(all.find("..."), std::string::npos) << "files and pipes get everything";
  const std::string wide = Write("w.hlo", "ENTRY e { ROOT a = s32[1001] iota(), iota_dimension=0 }");
  ASSERT_EQ(RunTo(second.name(), wide + " --full").status, 0);
  EXPECT_EQ(second.Read().find("..."), std::string::npos);
}

TEST_F(Cli, RunTimeSizesAreShown) {
  const std::string file = Write("m.hlo", "ENTRY e { ROOT a = f32[<=5] parameter(0) }");
  EXPECT_EQ(Run(file + " -i '{1,2,3}'").out, "f32[<=5](3) {1, 2, 3}\n");
  EXPECT_HAS(Run(file + " -i '{1,2,3}' --summary").out, "f32[<=5](3)  min 1  max 3  mean 2");
}

TEST_F(Cli, SummaryGivesStatisticsOfEachResult) {
  const std::string file =
      Write("m.hlo",
            "ENTRY e { a = f32[2,3] parameter(0) b = s64[3] parameter(1) c = c64[1] parameter(2) "
            "ROOT t = (f32[2,3], (s64[3], c64[1])) tuple(a, (s64[3], c64[1]) tuple(b, c)) }");
  const std::string inputs =
      " -i '{{1,nan,-3},{inf,nan,-inf}}' -i '{9007199254740993,9007199254740992,-1}' -i '{(3,4)}' --summary";
  const Outcome run = Run(file + inputs);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_HAS(run.out,
             "0: f32[2,3]  min -3  max 1  mean -1  NaN 2 (first at {0,1})  Inf 2 (first at {1,0})\n");
  EXPECT_HAS(run.out, "1.0: s64[3]  min -1  max 9007199254740993  mean");
  EXPECT_HAS(run.out, "1.1: c64[1]  min 5  max 5  mean 5\n");
  const auto row = nlohmann::json::parse(Run(file + inputs + " --format=json").out)["summary"];
  EXPECT_EQ(row["0"]["nan"], 2);
  EXPECT_EQ(row["0"]["first_nan"], nlohmann::json::parse("[0, 1]"));
  EXPECT_EQ(row["0"]["first_inf"], nlohmann::json::parse("[1, 0]"));
  EXPECT_EQ(row["0"]["mean"], -1);
  const std::string none = Write("n.hlo", "ENTRY e { ROOT c = f32[1] constant({nan}) }");
  EXPECT_HAS(Run(none + " --summary -o " + Path("n.npz")).out, "no finite element  NaN 1 (first at {0})");
  EXPECT_TRUE(fs::exists(Path("n.npz")));
}

TEST_F(Cli, SafetensorsHaveNamesFor4BitTypes) {
  const std::string even = Write("even.hlo", "ENTRY e { ROOT x = f4e2m1fn[2,3] parameter(0) }");
  const std::string output = Path("x.safetensors");
  ASSERT_EQ(Run(even + " -i '{{1,-6,0.5},{0,2,-3}}' -o " + output).status, 0);
  const std::string bytes = ReadFile(output);
  EXPECT_HAS(bytes, R"("dtype":"F4","shape":[2,3])");
  // Two elements per byte, the first in the low-order bits: 1 is 0x2, -6 is 0xf.
  EXPECT_EQ(bytes.substr(bytes.size() - 3), std::string("\xf2\x01\xd4", 3));
  EXPECT_EQ(Run(even + " -i " + output).out, "f4e2m1fn[2,3] { { 1, -6, 0.5 }, { 0, 2, -3 } }\n");
  const std::string other = Write("other.hlo", "ENTRY e { ROOT x = f32[2,3] parameter(0) }");
  const Outcome refused = Run(other + " -i " + output);
  EXPECT_EQ(refused.status, 2);
  EXPECT_HAS(refused.err, "found f4e2m1fn[2,3], expected f32[2,3]");
  EXPECT_EQ(Run(other + " --convert -i " + output).out, "f32[2,3] { { 1, -6, 0.5 }, { 0, 2, -3 } }\n");
  // An odd number of 4-bit elements does not fill whole bytes, so the format has no type for it.
  const std::string odd = Write("odd.hlo", "ENTRY e { ROOT x = f4e2m1fn[3] parameter(0) }");
  ASSERT_EQ(Run(odd + " -i '{1,-6,0.5}' -o " + output).status, 0);
  EXPECT_EQ(Run(odd + " -i " + output).out, "f4e2m1fn[3] {1, -6, 0.5}\n");
}

TEST_F(Cli, PrintWritesMessages) {
  const std::string file =
      Write("m.hlo", R"(HloModule m, entry_computation_layout={(f32[2,3]{0,1})->f32[2]{0}}

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y), metadata={op_name="a \"b\"" source_line=3}
}

ENTRY e {
  p = f32[2,3]{0,1} parameter(0), frontend_attributes={key="value"}
  z = f32[] constant(0.5)
  ROOT r = f32[2] reduce(p, z), dimensions={1}, to_apply=add
}
)");
  const std::string input = " -i '{{1,2,3},{4,5,6}}'", expected = "f32[2] {6.5, 15.5}\n";
  for (const std::string ending : {".pb", ".pbtxt", ".json"}) {
    const std::string output = Path("m" + ending);
    const Outcome run = Run("print " + file + " -o " + output);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(Run(output + input).out, expected) << ending;
    EXPECT_EQ(Run("print " + output).out, Run("print " + file).out) << ending;
  }
  EXPECT_HAS(ReadFile(Path("m.pbtxt")), "name: \"m\"");
  const auto json = nlohmann::json::parse(ReadFile(Path("m.json")));
  EXPECT_EQ(json["entry_computation_name"], "e");
  EXPECT_EQ(json["computations"][1]["instructions"][0]["frontend_attributes"]["map"]["key"], "value");
  const std::string compact = json.dump();
  EXPECT_EQ(Run(Write("compact.json", compact) + input).out, expected);
  const Outcome part = Run("print " + file + " --computation add -o " + Path("part.pb"));
  EXPECT_EQ(part.status, 2);
  EXPECT_HAS(part.err, "a message holds a whole module");
  const Outcome broken = Run("print " + Write("broken.json", "{\"name\": 3, ["));
  EXPECT_EQ(broken.status, 2);
  EXPECT_HAS(broken.err, "broken.json: is not the JSON of an HloModuleProto");
}

TEST_F(Cli, StatsPredictCollectives) {
  const std::string file = Write("m.hlo", R"(HloModule m, replica_count=4
f { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
ENTRY e {
  x = f32[1000] parameter(0)
  a = f32[1000] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=f
  b = f32[1000] all-reduce(a), replica_groups={{0,1},{2,3}}, to_apply=f
  ROOT c = f32[1000] collective-permute(b), source_target_pairs={{0,1}}
})");
  const Outcome text = Run("stats --collectives --latency 1 --bandwidth 2000 " + file);
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_HAS(text.out, "4 replicas of 1 partition");
  EXPECT_HAS(text.out, "2 x 2: {0,1},{2,3}");
  EXPECT_HAS(text.out, "1 pairs: 0>1");
  const Outcome run = Run("stats --collectives --format=json --latency 1 --bandwidth 2000 " + file);
  const auto json = nlohmann::json::parse(run.out)["collectives"];
  // Each all-reduce takes two messages of 2000 bytes from each device, the permute one of 4000.
  EXPECT_EQ(json["total"]["messages"], 2 * 8 + 1);
  EXPECT_EQ(json["total"]["bytes"], 2 * 16000 + 4000);
  EXPECT_EQ(json["total"]["seconds"], 2 * 2 * (1 + 1) + (1 + 2));
  EXPECT_EQ(json["kinds"].size(), 2);
  EXPECT_EQ(json["instructions"].size(), 3);
  const Outcome small = Run("stats --collectives --replicas 2 " + file);
  EXPECT_NE(small.status, 0);
  EXPECT_HAS(small.err, "fit --replicas 4 --partitions 1");
}

}  // namespace
