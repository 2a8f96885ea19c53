// Tests golden folders and snapshots of several devices. The expected values are computed by hand.

#include "cli_fixture.h"
#include "fmt/format.h"

namespace hlo::cli_test {
namespace {

// Replica r adds r; pairs of replicas sum up.
constexpr char kSumOfPairs[] = R"(HloModule m
f { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
ENTRY e {
  x = f32[2] parameter(0)
  w = f32[2] parameter(1)
  r = u32[] replica-id()
  c = f32[] convert(r)
  b = f32[2] broadcast(c), dimensions={}
  s = f32[2] add(x, b)
  t = f32[2] add(s, w)
  ROOT a = f32[2] all-reduce(t), replica_groups={{0,1},{2,3}}, to_apply=f
}
)";

// Each partition holds half of the rows of x.
constexpr char kRows[] = R"(HloModule m, num_partitions=2
f { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
ENTRY main_spmd {
  x = f32[1,2] parameter(0), sharding={devices=[2,1]<=[2]}
  all = f32[1,2] all-reduce(x), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=f
  ROOT y = f32[1,2] subtract(all, x), sharding={devices=[2,1]<=[2]}
}
)";

class GoldenDevices : public Cli {
 protected:
  // Writes an archive with the results of devices: a module that returns its arguments gets them as inputs,
  // such as `r1/0={1,2}`.
  void WriteArchive(const std::string& file, const std::string& counts, const std::string& inputs,
                    const std::string& root = "ROOT x = f32[2] parameter(0)") {
    const std::string copies = Write("copies.hlo", "ENTRY e { " + root + " }");
    const Outcome outcome = Run(fmt::format("{} {} {} -o {}", copies, counts, inputs, Path(file)));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
  }
  // Writes the folder `golden`.
  std::string WriteFolder(const std::string& module, const std::string& rules) {
    fs::create_directory(folder_ / "golden");
    Write("golden/module.hlo", module);
    Write("golden/case.json", rules);
    return Path("golden");
  }
  Outcome Check(const std::string& path, const std::string& engine) {
    return Run(fmt::format("check {} {}", path, engine));
  }
};

constexpr const char* kEngines[] = {"--engine=reference", "--engine=fast", "--device=emulated-gpu"};

TEST_F(GoldenDevices, AFolderHasInputsAndOutputsOfDevices) {
  const std::string folder = WriteFolder(kSumOfPairs, R"({"devices": 4, "rule": {"kind": "exact"}})");
  WriteArchive("golden/inputs.npz", "--replicas 4", "-i '{1,2}' -i '{1,2}' -i 'r3/0={1,10}'",
               "x = f32[2] parameter(0) w = f32[2] parameter(1) ROOT t = (f32[2], f32[2]) tuple(x, w)");
  // x + w + r is {2,4}, {3,5}, {4,6} and {5,15}.
  WriteArchive("golden/outputs.npz", "--replicas 4",
               "-i 'r0/0={5,9}' -i 'r1/0={5,9}' -i 'r2/0={9,21}' -i 'r3/0={9,21}'");
  for (const char* engine : kEngines) {
    const Outcome outcome = Check(folder, engine);
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    EXPECT_HAS(outcome.out, "1 case: 1 passed");
  }
  WriteArchive("golden/outputs.npz", "--replicas 4",
               "-i 'r0/0={5,9}' -i 'r1/0={5,9}' -i 'r2/0={9,21}' -i 'r3/0={9,22}'");
  for (const char* engine : kEngines) {
    const Outcome outcome = Check(folder, engine);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_HAS(outcome.out, "device 3:\noutput 0: 1 of 2 elements differ");
  }
}

TEST_F(GoldenDevices, AFolderOfWholeArraysIsSplitAndJoined) {
  const std::string folder = WriteFolder(kRows, R"({"shard": true})");
  WriteArchive("golden/inputs.npz", "--replicas 1", "-i '{{1,2},{3,4}}'", "ROOT x = f32[2,2] parameter(0)");
  WriteArchive("golden/outputs.npz", "--replicas 1", "-i '{{3,4},{1,2}}'", "ROOT x = f32[2,2] parameter(0)");
  for (const char* engine : kEngines) {
    const Outcome outcome = Check(folder, engine);
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  }
}

TEST_F(GoldenDevices, UnknownDevicesAndMissingArraysAreReported) {
  const std::string folder = WriteFolder(kRows, "{}");
  WriteArchive("golden/inputs.npz", "--replicas 1", "-i '{{1,2}}'", "ROOT x = f32[1,2] parameter(0)");
  WriteArchive("golden/outputs.npz", "--partitions 3",
               "-i 'p0/0={{1,2}}' -i 'p1/0={{1,2}}' -i 'p2/0={{1,3}}'", "ROOT x = f32[1,2] parameter(0)");
  const Outcome outcome = Check(folder, "");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_HAS(outcome.out, "the archive has p2/0, which no device returns\n");
  fs::remove(folder_ / "golden/outputs.npz");
  WriteArchive("golden/outputs.npz", "--replicas 2", "-i '{{1,2}}'", "ROOT x = f32[1,2] parameter(0)");
  const Outcome replicas = Check(folder, "");
  EXPECT_HAS(replicas.out, "the archive has r1/0, which no device returns\n");
  WriteArchive("golden/outputs.npz", "", "-i '{{1,2}}'",
               "y = f32[1,2] parameter(0) ROOT x = (f32[1,2], f32[1,2]) tuple(y, y)");
  EXPECT_HAS(Check(folder, "").out, "the archive has 1, which no device returns\n");
  WriteArchive("golden/outputs.npz", "", "-i '{{1,2}}'", "ROOT x = f32[1,2] parameter(0)");
  EXPECT_EQ(Check(folder, "").status, 0);
  std::string text = kRows;
  text.replace(text.find("ROOT y"), 6, "y");
  text.insert(text.rfind('}'), "  ROOT t = (f32[1,2], f32[1,2]) tuple(y, y)\n");
  Write("golden/module.hlo", text);
  EXPECT_HAS(Check(folder, "").out, "device 1:\nthe archive has no array 1\n");
}

TEST_F(GoldenDevices, MismatchedCountsAreReported) {
  const std::string folder = WriteFolder(kSumOfPairs, R"({"devices": 3})");
  WriteArchive("golden/outputs.npz", "--replicas 1", "-i '{1,2}'");
  const Outcome outcome = Check(folder, "");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_HAS(outcome.out, "the case has 3 devices, but the module has 4 replicas of 1 partition;");
}

TEST_F(GoldenDevices, ASnapshotHasTheValuesOfEachDevice) {
  const std::string right = Write("s.pb", ReadFile("tests/unit/io/data/snapshot.pb"));
  Write("s.pb.json", R"({"replicas": 2, "partitions": 2})");
  const std::string wrong = Write("w.pb", ReadFile("tests/unit/io/data/wrong_snapshot.pb"));
  Write("w.pb.json", R"({"replicas": 2, "partitions": 2})");
  for (const char* engine : kEngines) {
    EXPECT_EQ(Check(right, engine).status, 0);
    const Outcome outcome = Check(wrong, engine);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_HAS(outcome.out, "device 3 (replica 1, partition 1):\noutput 0: 1 of 4 elements differ");
  }
}

}  // namespace
}  // namespace hlo::cli_test
