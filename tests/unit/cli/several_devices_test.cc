// Tests runs of modules for several devices. The expected values are computed by hand.

#include <algorithm>

#include "cli_fixture.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace hlo::cli_test {
namespace {

using Json = nlohmann::json;

class SeveralDevices : public Cli {};

constexpr char kAddTwo[] = "f { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }\n";

// Replica r contributes r; pairs of replicas add up.
const std::string kPairs = "HloModule m, replica_count=4\n" + std::string(kAddTwo) + R"(
ENTRY e {
  x = f32[2] parameter(0)
  r = u32[] replica-id()
  c = f32[] convert(r)
  b = f32[2] broadcast(c), dimensions={}
  s = f32[2] add(x, b)
  ROOT a = f32[2] all-reduce(s), replica_groups={{0,1},{2,3}}, to_apply=f
}
)";

// Each partition holds half of the rows of x and all of w; the result is split like x.
const std::string kPartitioned = "HloModule m, num_partitions=2\n" + std::string(kAddTwo) + R"(
ENTRY main_spmd {
  x = f32[2,2] parameter(0), sharding={devices=[2,1]<=[2]}
  w = f32[2] parameter(1), sharding={replicated}
  zero = f32[] constant(0)
  sums = f32[2] reduce(x, zero), dimensions={0}, to_apply=f
  all = f32[2] all-reduce(sums), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=f
  v = f32[2] add(all, w)
  b = f32[2,2] broadcast(v), dimensions={1}
  ROOT y = f32[2,2] add(x, b), sharding={devices=[2,1]<=[2]}
}
)";

TEST_F(SeveralDevices, AModuleRunsOnTheDevicesOfItsHeader) {
  const Outcome outcome = Run(Write("m.hlo", kPairs) + " -i '{1,2}'");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "r0, r1:\nf32[2] {3, 5}\nr2, r3:\nf32[2] {7, 9}\n");
}

TEST_F(SeveralDevices, GroupsDetermineTheDevicesOfAModuleWithoutCounts) {
  const std::string text = "HloModule m\n" + kPairs.substr(kPairs.find('\n') + 1);
  EXPECT_EQ(Run(Write("m.hlo", text) + " -i '{1,2}'").out,
            "r0, r1:\nf32[2] {3, 5}\nr2, r3:\nf32[2] {7, 9}\n");
  // Without groups, the shapes determine them.
  const Outcome gather = Run(Write("g.hlo",
                                   "HloModule m\nENTRY e { a = u4[1,2] parameter(0)\n"
                                   "ROOT b = u4[1,8] all-gather(a), dimensions={1} }") +
                             " -i '{{3,5}}' --engine=reference");
  EXPECT_EQ(gather.out, "all 4 replicas:\nu4[1,8] { { 3, 5, 3, 5, 3, 5, 3, 5 } }\n");
}

TEST_F(SeveralDevices, ResultsThatAgreeArePrintedOnce) {
  const std::string file = Write("m.hlo", R"(HloModule m, replica_count=3
ENTRY e { x = s32[1] parameter(0) ROOT g = s32[3] all-gather(x), dimensions={0}, replica_groups={{2,0,1}} })");
  const std::string inputs = " -i '{7}' -i 'r1/x={8}' -i 'r2/0={9}'";
  EXPECT_EQ(Run(file + inputs).out, "all 3 replicas:\ns32[3] {9, 7, 8}\n");
  const Json json = Json::parse(Run(file + inputs + " --format=json").out);
  EXPECT_EQ(json["replicas"], 3);
  EXPECT_EQ(json["partitions"], 1);
  EXPECT_EQ(json["agree"], true);
  EXPECT_EQ(json["outputs"]["0"]["values"], (std::vector<int>{9, 7, 8}));
}

TEST_F(SeveralDevices, ResultsThatDifferAreListedByDeviceInJson) {
  const Json json = Json::parse(Run(Write("m.hlo", kPairs) + " -i '{1,2}' --format=json").out);
  EXPECT_EQ(json["agree"], false);
  EXPECT_EQ(json["outputs"]["r1"]["0"]["values"], (std::vector<int>{3, 5}));
  EXPECT_EQ(json["outputs"]["r2"]["0"]["values"], (std::vector<int>{7, 9}));
}

TEST_F(SeveralDevices, ArchivesHaveKeysOfDevices) {
  const std::string file = Write("m.hlo", kPairs);
  ASSERT_EQ(Run(file + " -i '{1,2}' --output " + Path("out.npz")).status, 0);
  // The results are arguments of the same devices.
  EXPECT_EQ(Run(file + " -i " + Path("out.npz")).out, "r0, r1:\nf32[2] {7, 11}\nr2, r3:\nf32[2] {19, 23}\n");
  const Outcome single = Run(file + " -i '{1,2}' --output " + Path("out.npy"));
  EXPECT_EQ(single.status, 2);
  EXPECT_HAS(single.err, "there are the values of 4 devices; write an .npz, .safetensors or .json file");
  Write("args.json", R"({"0": [1, 2], "r3/x": [10, 20]})");
  EXPECT_EQ(Run(file + " -i " + Path("args.json")).out, "r0, r1:\nf32[2] {3, 5}\nr2, r3:\nf32[2] {16, 27}\n");
}

TEST_F(SeveralDevices, MoreSpecificKeysTakePrecedence) {
  const std::string file = Write("m.hlo", R"(HloModule m, replica_count=2, num_partitions=2
ENTRY e { x = s32[1] parameter(0) ROOT g = s32[4] all-gather(x), dimensions={0}, channel_id=1,
  replica_groups={{0,1,2,3}}, use_global_device_ids=true })");
  EXPECT_EQ(Run(file + " -i r1p1/x={4} -i {1} -i p1/0={2} -i r1p0/0={3}").out,
            "all 4 devices:\ns32[4] {1, 2, 3, 4}\n");
  Write("one.json", R"({"0": [5]})");
  EXPECT_EQ(Run(file + " -i {1} -i r1/=" + Path("one.json")).out, "all 4 devices:\ns32[4] {1, 1, 5, 5}\n");
  const Outcome twice = Run(file + " -i {1} -i p1/0={2} -i p1/x={3}");
  EXPECT_EQ(twice.status, 2);
  EXPECT_HAS(twice.err, "parameter 0 'x' is given twice on r0p1");
  const Outcome unknown = Run(file + " -i {1} -i p2/0={2}");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_HAS(unknown.err, "names partition 2, but the run has 2 replicas and 2 partitions");
}

TEST_F(SeveralDevices, KeysInARunOfOneDeviceNameThatDevice) {
  const std::string file = Write("m.hlo", "ENTRY e { x = s32[] parameter(0) ROOT n = s32[] negate(x) }");
  EXPECT_EQ(Run(file + " -i r0/x=3").out, "s32[] -3\n");
  for (const std::string inputs : {" -i 1 -i r1/x=2", " -i r1/x=2"}) {
    const Outcome other = Run(file + inputs);
    EXPECT_EQ(other.status, 2);
    EXPECT_HAS(other.err, "--input r1/x=2: names replica 1, but the run has 1 replica and 1 partition");
  }
  // A file in a folder of this name is a file.
  fs::create_directories(Path("r1"));
  Write("r1/x=2.txt", "s32[] 5");
  EXPECT_EQ(RunIn(folder_, "m.hlo -i r1/x=2.txt").status, 0);
  EXPECT_EQ(ReadFile(Path("stdout")), "s32[] -5\n");
}

TEST_F(SeveralDevices, ShardSplitsArgumentsAndJoinsResults) {
  const std::string file = Write("m.hlo", kPartitioned);
  const std::string whole = " -i '{{1,2},{3,4},{5,6},{7,8}}' -i '{100,200}'";
  const Outcome joined = Run(file + whole + " --shard");
  EXPECT_EQ(joined.err, "");
  // The column sums are 16 and 20.
  EXPECT_EQ(joined.out, "f32[4,2] { { 117, 222 }, { 119, 224 }, { 121, 226 }, { 123, 228 } }\n");
  const Outcome parts = Run(file + " -i 'p0/x={{1,2},{3,4}}' -i 'p1/x={{5,6},{7,8}}' -i 'w={100,200}'");
  EXPECT_EQ(parts.out,
            "p0:\nf32[2,2] { { 117, 222 }, { 119, 224 } }\n"
            "p1:\nf32[2,2] { { 121, 226 }, { 123, 228 } }\n");
  const Outcome wrong = Run(file + " -i '{{1,2},{3,4}}' -i '{100,200}' --shard");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_HAS(wrong.err, "parameter 0 'x'");
}

TEST_F(SeveralDevices, RandomArraysAreWholeArrays) {
  const std::string file = Write("m.hlo", kPartitioned);
  // The same values under the names of a program of one device.
  const std::string one = Write("one.hlo", std::string("HloModule m\n") + kAddTwo + R"(
ENTRY e {
  x = f32[4,2] parameter(0)
  w = f32[2] parameter(1)
  zero = f32[] constant(0)
  sums = f32[2] reduce(x, zero), dimensions={0}, to_apply=f
  v = f32[2] add(sums, w)
  b = f32[4,2] broadcast(v), dimensions={1}
  ROOT y = f32[4,2] add(x, b)
})");
  // Sums of four small integers are exact.
  const std::string flags = " --random 3 --fill=iota";
  const std::string expected = Run(one + flags).out;
  EXPECT_EQ(Run(file + flags + " --shard").out, expected);
  ASSERT_EQ(Run("inputs " + file + flags + " --output " + Path("args.npz")).status, 0);
  EXPECT_EQ(Run(file + " -i " + Path("args.npz") + " --shard").status, 2);
  EXPECT_EQ(Run(file + " -i " + Path("args.npz")).out, Run(file + flags).out);
  ASSERT_EQ(Run("inputs " + file + flags + " --shard --output " + Path("whole.npz")).status, 0);
  EXPECT_EQ(Run(file + " -i " + Path("whole.npz") + " --shard").out, expected);
  EXPECT_EQ(Run(one + " -i " + Path("whole.npz")).out, expected);
}

TEST_F(SeveralDevices, TheModuleBeforePartitioningHasTheShardings) {
  std::string bare = kPartitioned;
  for (size_t at = bare.find(", sharding="); at != std::string::npos; at = bare.find(", sharding="))
    bare.erase(at, bare.find('\n', at) - at);
  const std::string file = Write("after.hlo", bare);
  const std::string before = Write("before.hlo", R"(HloModule m, num_partitions=2
ENTRY e {
  x = f32[4,2] parameter(0), sharding={devices=[2,1]<=[2]}
  w = f32[2] parameter(1), sharding={replicated}
  ROOT y = f32[4,2] add(x, x), sharding={devices=[2,1]<=[2]}
})");
  EXPECT_HAS(Run(file + " -i '{{1,2},{3,4},{5,6},{7,8}}' -i '{100,200}' --shard-by " + before).out,
             "f32[4,2] { { 117, 222 }");
  // The result of a value whose sharding XLA chose is not joined.
  const std::string unknown = Write("unknown.hlo", R"(HloModule m, num_partitions=2
ENTRY e {
  x = f32[4,2] parameter(0), sharding={devices=[2,1]<=[2]}
  w = f32[2] parameter(1), sharding={replicated}
  ROOT y = f32[4,2] add(x, x)
})");
  const std::string whole_arguments = " -i '{{1,2},{3,4},{5,6},{7,8}}' -i '{100,200}'";
  const Outcome parts = Run(file + whole_arguments + " --shard-by " + unknown);
  EXPECT_HAS(parts.out, "p1:\nf32[2,2]");
  EXPECT_HAS(parts.err,
             "warning: --shard: 'y': the partitioned module has f32[2,2] of f32[4,2], by a sharding "
             "that XLA chose; add `sharding=` to it");
  EXPECT_HAS(Run("diff --shard " + unknown + " " + file + whole_arguments).err,
             "by a sharding that XLA chose");
  // Without them, results are not joined.
  const Outcome apart = Run(file + " --random 1 --per-device x --shard");
  EXPECT_HAS(apart.out, "p1:\nf32[2,2]");
  EXPECT_HAS(apart.err, "warning: --shard: no sharding of the root tells how to join the results");
  const Outcome whole = Run(file + " -i '{{1,2},{3,4},{5,6},{7,8}}' -i '{100,200}' --shard");
  EXPECT_EQ(whole.status, 2);
  EXPECT_HAS(whole.err,
             "; no parameter has a sharding, but --shard-by FILE takes those of the module before");
  const Outcome missing = Run(file + " --random 1 --shard-by missing.hlo");
  EXPECT_EQ(missing.status, 2);
  EXPECT_HAS(missing.err, "after.hlo: error: --shard-by: cannot read 'missing.hlo'");
}

TEST_F(SeveralDevices, ExtractedPartsKeepShardingsAndCounts) {
  const std::string file = Write("m.hlo", kPartitioned), part = Path("part.hlo");
  ASSERT_EQ(Run("extract " + file + " --instruction all -o " + part).status, 0);
  const std::string text = ReadFile(part);
  EXPECT_HAS(text, "num_partitions=2");
  EXPECT_HAS(text, "parameter(0), sharding={devices=[2,1]<=[2]}");
  EXPECT_EQ(Run(part + " -i '{{1,2},{3,4},{5,6},{7,8}}' --shard").out,
            "all 2 partitions:\nf32[2] {16, 20}\n");
}

TEST_F(SeveralDevices, PerDeviceDrawsOtherValues) {
  const std::string file = Write("m.hlo", "HloModule m, replica_count=2\n" + std::string(kAddTwo) + R"(
ENTRY e {
  x = f32[2] parameter(0)
  w = f32[2] parameter(1)
  a = f32[2] all-reduce(w), replica_groups={}, to_apply=f
  ROOT t = (f32[2], f32[2]) tuple(x, w)
})");
  EXPECT_HAS(Run(file + " --random 1").out, "all 2 replicas:");
  const Json json = Json::parse(Run(file + " --random 1 --per-device x --format=json").out);
  EXPECT_NE(json["outputs"]["r0"]["0"], json["outputs"]["r1"]["0"]);
  EXPECT_EQ(json["outputs"]["r0"]["1"], json["outputs"]["r1"]["1"]);
  EXPECT_HAS(Run(file + " --random 1 --per-device y").err,
             "--per-device: the entry computation has no parameter 'y'");
}

TEST_F(SeveralDevices, AModuleThatIsNotPartitionedRunsOnOneDevice) {
  const std::string file = Write("m.hlo", R"(HloModule m, num_partitions=8
ENTRY e {
  x = f32[4] parameter(0), sharding={devices=[8]<=[8]}
  ROOT y = f32[4] add(x, x), sharding={devices=[8]<=[8]}
})");
  EXPECT_EQ(Run(file + " -i {1,2,3,4}").out, "f32[4] {2, 4, 6, 8}\n");
  EXPECT_EQ(Run(file + " -i {1,2,3,4} --partitions 8").out, "all 8 partitions:\nf32[4] {2, 4, 6, 8}\n");
}

// A manual region whose body adds up the halves of x.
const std::string kManual = "HloModule m\n" + std::string(kAddTwo) + R"(
ENTRY e {
  x = f32[4] parameter(0), sharding={devices=[2]<=[2]}
  a = f32[4] custom-call(x), custom_call_target="Sharding", sharding={devices=[2]<=[2]}
  b = f32[2] custom-call(a), custom_call_target="SPMDFullToShardShape", sharding={manual}
  c = f32[2] all-reduce(b), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=f
  d = f32[2] custom-call(c), custom_call_target="Sharding", sharding={manual}
  ROOT y = f32[2] custom-call(d), custom_call_target="SPMDShardToFullShape", sharding={replicated}
})";

TEST_F(SeveralDevices, ManualRegionsRunOnThePartitionsOfTheirShardings) {
  const Outcome outcome = Run(Write("m.hlo", kManual) + " -i {1,2,3,4}");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out, "all 2 partitions:\nf32[2] {4, 6}\n");
}

TEST_F(SeveralDevices, CountsThatDoNotFitAreNamed) {
  const Outcome outcome = Run(Write("m.hlo", kPairs) + " -i '{1,2}' --replicas 2");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_HAS(outcome.err, "m.hlo:10:19: error: 'a' (f32[2] all-reduce)");
  EXPECT_HAS(outcome.err, "the groups and pairs of the module fit --replicas 4 --partitions 1");
  EXPECT_EQ(Run(Write("m.hlo", kPairs) + " -i '{1,2}' --replicas 0").status, 2);
  const Outcome large = Run(Write("m.hlo", kPairs) + " -i '{1,2}' --replicas 1000000");
  EXPECT_EQ(large.status, 4);
  EXPECT_HAS(large.err, "the limit is 65536 devices");
}

// Replica 0 takes the first branch.
std::string TwoBranches(const std::string& even, const std::string& odd) {
  return fmt::format(R"(HloModule m, replica_count=2
{}
a {{
  x = f32[2] parameter(0)
  {}
}}
b {{
  x = f32[2] parameter(0)
  {}
}}
ENTRY e {{
  x = f32[2] parameter(0)
  r = u32[] replica-id()
  z = u32[] constant(0)
  p = pred[] compare(r, z), direction=EQ
  ROOT v = f32[2] conditional(p, x, x), true_computation=a, false_computation=b
}})",
                     kAddTwo, even, odd);
}

TEST_F(SeveralDevices, DeadlocksAreReportedWithDevicesAndPlaces) {
  const std::string file =
      Write("m.hlo", TwoBranches("ROOT r = f32[2] all-reduce(x), replica_groups={}, to_apply=f",
                                 "ROOT r = f32[2] all-to-all(x), replica_groups={}, dimensions={0}"));
  for (const std::string engine : {"fast", "reference"}) {
    const Outcome outcome = Run(file + " -i '{1,2}' --engine=" + engine);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_HAS(outcome.err, "deadlock");
    EXPECT_HAS(outcome.err, "device 0 (replica 0, partition 0) waits at " + file + ":6:19: 'r'");
    EXPECT_HAS(outcome.err, "device 1 (replica 1, partition 0) waits at " + file + ":10:19: 'r'");
    EXPECT_HAS(outcome.err, "the collectives do not match");
  }
}

TEST_F(SeveralDevices, PairsByArrivalWarnAndAreErrorsIfStrict) {
  const std::string file =
      Write("m.hlo", TwoBranches("ROOT r = f32[2] all-reduce(x), replica_groups={}, to_apply=f",
                                 "ROOT s = f32[2] all-reduce(x), replica_groups={}, to_apply=f"));
  const Outcome arrival = Run(file + " -i '{1,2}'");
  EXPECT_EQ(arrival.status, 0);
  EXPECT_EQ(arrival.out, "all 2 replicas:\nf32[2] {2, 4}\n");
  EXPECT_HAS(arrival.err, "warning: ");
  EXPECT_HAS(arrival.err, "paired by order of arrival");
  const Outcome strict = Run(file + " -i '{1,2}' --match=strict");
  EXPECT_EQ(strict.status, 2);
  EXPECT_HAS(strict.err, "deadlock");
}

TEST_F(SeveralDevices, ACollectiveThatTakesTooLongIsReported) {
  // Replica 1 counts to 10^15 before it meets the other.
  const std::string file = Write("m.hlo", "HloModule m, replica_count=2\n" + std::string(kAddTwo) + R"(
c {
  s = (s64[], s64[]) parameter(0)
  i = s64[] get-tuple-element(s), index=0
  n = s64[] get-tuple-element(s), index=1
  ROOT l = pred[] compare(i, n), direction=LT
}
b {
  s = (s64[], s64[]) parameter(0)
  i = s64[] get-tuple-element(s), index=0
  n = s64[] get-tuple-element(s), index=1
  one = s64[] constant(1)
  j = s64[] add(i, one)
  ROOT t = (s64[], s64[]) tuple(j, n)
}
ENTRY e {
  x = f32[2] parameter(0)
  zero = s64[] constant(0)
  most = s64[] constant(1000000000000000)
  r = u32[] replica-id()
  wide = s64[] convert(r)
  n = s64[] multiply(wide, most)
  t = (s64[], s64[]) tuple(zero, n)
  w = (s64[], s64[]) while(t), condition=c, body=b
  i = s64[] get-tuple-element(w), index=0
  y = f32[] convert(i)
  z = f32[2] broadcast(y), dimensions={}
  v = f32[2] add(x, z)
  ROOT a = f32[2] all-reduce(v), replica_groups={}, to_apply=f
})");
  for (const std::string engine : {"fast", "reference"}) {
    const Outcome outcome = Run(file + " -i '{1,2}' --collective-timeout 0.2 --engine=" + engine);
    EXPECT_EQ(outcome.status, 4);
    EXPECT_HAS(outcome.err, "the limit of 0.2 seconds is reached (see --collective-timeout)");
    EXPECT_HAS(outcome.err, "device 0 (replica 0, partition 0) waits at " + file + ":31:19: 'a'");
  }
}

TEST_F(SeveralDevices, ANanIsReportedWithItsDevices) {
  const std::string file = Write("m.hlo", kPairs);
  const Outcome outcome = Run(file + " -i '{1,2}' -i 'r3/0={nan,0}' --fail-on-nan");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_HAS(outcome.err, "the result of r2, r3 contains a NaN");
  EXPECT_EQ(Run(file + " -i '{1,2}' --fail-on-nan").status, 0);
}

TEST_F(SeveralDevices, TraceShowsTheDeviceThatIsAskedFor) {
  const std::string file = Write("m.hlo", kPairs);
  const std::string flags = "trace " + file + " -i '{1,2}' --opcode add --values";
  EXPECT_HAS(Run(flags).out, "f32[2] {1, 2}");
  EXPECT_HAS(Run(flags + " --for-device r3").out, "f32[2] {4, 5}");
  EXPECT_HAS(Run(flags + " --for-device 2 --engine reference").out, "f32[2] {3, 4}");
  const Outcome wrong = Run(flags + " --for-device r4");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_HAS(wrong.err, "'r4' is not a device of 4 replicas and 1 partition");
  const Outcome nans = Run("trace " + file + " -i '{1,2}' -i 'r3/0={inf,0}' -i 'r2/0={-inf,0}' --nans");
  EXPECT_HAS(nans.out, "no instruction produces a NaN or an infinity");
  EXPECT_HAS(
      Run("trace " + file + " -i '{1,2}' -i 'r3/0={inf,0}' -i 'r2/0={-inf,0}' --nans --for-device r2").out,
      "NaN is produced by %a at {0}");
}

TEST_F(SeveralDevices, ProfileAndTraceShowTheDevices) {
  const std::string file = Write("m.hlo", kPairs);
  const Outcome outcome =
      Run("profile " + file + " -i '{1,2}' --repeat 1 --format=json --trace " + Path("trace.json"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  ASSERT_EQ(json["devices"].size(), 4);
  EXPECT_EQ(json["devices"][3]["device"], "r3");
  EXPECT_GE(json["devices"][3]["collectives_s"], 0);
  std::vector<int> collectives(4);
  const Json trace = Json::parse(ReadFile(Path("trace.json")));
  for (const Json& event : trace["traceEvents"])
    collectives.at(event["tid"]) += event["args"]["opcode"] == "all-reduce" ? 1 : 0;
  EXPECT_EQ(collectives, (std::vector<int>{1, 1, 1, 1}));
  EXPECT_HAS(Run("profile " + file + " -i '{1,2}' --repeat 1 --for-device r1").out, "steps of r1");
}

TEST_F(SeveralDevices, PlanIsSharedByTheDevices) {
  EXPECT_HAS(Run("plan " + Write("m.hlo", kPairs)).out, "4 replicas of 1 partition share the plan");
}

TEST_F(SeveralDevices, CommandsOfOneDeviceSaySo) {
  const std::string file = Write("m.hlo", kPairs);
  const Outcome cross = Run(file + " -i '{1,2}' --cross-check");
  EXPECT_EQ(cross.status, 3);
  EXPECT_HAS(cross.err,
             "--cross-check takes modules of one device, and this one has 4 replicas of 1 partition; "
             "--engine=reference prints");
  const Outcome diff = Run("diff " + file + " " + Write("x.json", "{}") + " -i '{1,2}'");
  EXPECT_EQ(diff.status, 3);
  EXPECT_HAS(diff.err, "a comparison of values takes modules of one device");
  EXPECT_HAS(diff.err, "diff A B compares two modules on several devices");
  EXPECT_EQ(Run("diff --structural " + file + " " + file).status, 0);
  EXPECT_EQ(Run("graph " + file).status, 0);
}

// Replicas 0 and 1 have {3,5}, the others {7,9}. The result of replica 3 is wrong.
TEST_F(SeveralDevices, ShadowJudgesTheResultOfEachDevice) {
  const std::string file = Write("m.hlo", kPairs);
  const std::string other =
      Write("other.json", R"({"r0/0": [3, 5], "r1/0": [3, 5], "r2/0": [7, 9], "r3/0": [7, 9.5]})");
  const Outcome shadow = Run("shadow " + file + " -i '{1,2}' --against " + other + " --for-device r1");
  EXPECT_EQ(shadow.status, 1) << shadow.err;
  EXPECT_HAS(shadow.out, "r0: output 0: explained by rounding");
  EXPECT_HAS(shadow.out, "r2: output 0: explained by rounding");
  EXPECT_HAS(shadow.out,
             "r3: output 0: not explained: a bug; 1 element beyond the bound\n  at {1}: 9.5, here 9");
  EXPECT_HAS(shadow.out, "errors on r1");
  const Outcome missing =
      Run("shadow " + file + " -i '{1,2}' --against " + Write("one.json", R"({"r0/0": [3, 5]})"));
  EXPECT_EQ(missing.status, 2);
  EXPECT_HAS(missing.err, "there is no array 'r1/0'");
}

// The columns of x add up to {6,8}, so y = x + {11,14}.
TEST_F(SeveralDevices, ShadowSplitsAWholeResult) {
  const std::string base = "shadow " + Write("m.hlo", kPartitioned) +
                           " --shard -i '{{1,2},{3,4},{1,1},{1,1}}' -i '{5,6}' --against ";
  const Outcome right = Run(base + Write("right.txt", "f32[4,2] {{12,16},{14,18},{12,15},{12,15}}"));
  EXPECT_EQ(right.status, 0) << right.err << right.out;
  const Outcome wrong = Run(base + Write("wrong.txt", "f32[4,2] {{12,16},{14,18},{12,15},{12,16}}"));
  EXPECT_EQ(wrong.status, 1) << wrong.err;
  EXPECT_HAS(wrong.out, "p0: output 0: explained by rounding");
  EXPECT_HAS(wrong.out,
             "p1: output 0: not explained: a bug; 1 element beyond the bound\n  at {1,1}: 16, here 15");
}

// The sum of replica 2 and 3 is {7,9}; s of replica 3 is {4,5}.
TEST_F(SeveralDevices, GraphShowsTheValuesOfADevice) {
  const Outcome page =
      Run("graph " + Write("m.hlo", kPairs) + " -i '{1,2}' --for-device r3 -o " + Path("m.html"));
  ASSERT_EQ(page.status, 0) << page.err;
  const std::string text = ReadFile(Path("m.html"));
  const size_t begin = text.find("const DATA = ") + 13;
  const Json json = Json::parse(text.substr(begin, text.find(";</script>", begin) - begin));
  std::vector<std::string> seen;
  for (const auto& [node, value] : json["values"].items())
    seen.push_back(fmt::format("{} {}", value["min"].dump(), value["max"].dump()));
  EXPECT_NE(std::find(seen.begin(), seen.end(), "7.0 9.0"), seen.end()) << json["values"];
  EXPECT_NE(std::find(seen.begin(), seen.end(), "4.0 5.0"), seen.end()) << json["values"];
}

// The sum of an infinity of replica 0 and a negative one of replica 1 needs both.
TEST_F(SeveralDevices, MinimizeKeepsTheDevicesOfACollective) {
  const std::string file = Write("m.hlo", "HloModule m, replica_count=2\n" + std::string(kAddTwo) + R"(
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  e = f32[4] exponential(x)
  s = f32[4] multiply(e, y)
  t = f32[4] tanh(y)
  a = f32[4] all-reduce(s), to_apply=f
  n = f32[4] negate(a)
  ROOT r = (f32[4], f32[4]) tuple(n, t)
}
)");
  const std::string inputs = " -i x='{99,99,99,99}' -i y='{1,1,1,1}' -i 'r1/y={-1,-1,-1,-1}'";
  const Outcome outcome =
      Run("minimize --format=json --judge-nan " + file + inputs + " -j 1 -o " + Path("small"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string text = ReadFile(Path("small/module.hlo"));
  EXPECT_HAS(text, "replica_count=2");
  EXPECT_HAS(text, "all-reduce(");
  // The parameter and the all-reduce, and three instructions of its reducer.
  EXPECT_EQ(Json::parse(outcome.out)["instructions"][1], 5) << text;
  EXPECT_EQ(Run("check " + Path("small")).status, 0);
  EXPECT_HAS(Run(Path("small/module.hlo") + " -i " + Path("small/inputs.npz")).out, "nan");
}

// A loop whose devices exchange values makes a NaN in its third iteration of five.
TEST_F(SeveralDevices, MinimizeShortensLoopsOfSeveralDevices) {
  const std::string file = Write("m.hlo", "HloModule m, replica_count=2\n" + std::string(kAddTwo) + R"(
body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  third = f32[] constant(1)
  thirds = f32[4] broadcast(third), dimensions={}
  less = f32[4] subtract(x, thirds)
  root = f32[4] sqrt(less)
  square = f32[4] multiply(root, root)
  moved = f32[4] collective-permute(square), source_target_pairs={{0,1},{1,0}}
  ROOT t = (s32[], f32[4]) tuple(next, moved)
}
condition {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  five = s32[] constant(5)
  ROOT l = pred[] compare(i, five), direction=LT
}
ENTRY e {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[4]) tuple(zero, x)
  w = (s32[], f32[4]) while(init), condition=condition, body=body
  y = f32[4] get-tuple-element(w), index=1
  ROOT a = f32[4] all-reduce(y), to_apply=f
}
)");
  const Outcome outcome = Run("minimize --format=json --judge-nan " + file +
                              " -i x='{9,9,9,9}' -i 'r1/x={2.5,2.5,2.5,2.5}' -j 1 -o " + Path("small"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string text = ReadFile(Path("small/module.hlo"));
  EXPECT_EQ(text.find("while("), std::string::npos) << text;
  EXPECT_HAS(text, "sqrt(");
  EXPECT_EQ(Json::parse(outcome.out)["instructions"][1], 2) << text;
  EXPECT_HAS(Run(Path("small/module.hlo") + " -i " + Path("small/inputs.npz")).out, "nan");
}

// The logarithm of -1 on replica 1 needs no other device.
TEST_F(SeveralDevices, MinimizeFindsTheDeviceOfANan) {
  const std::string file = Write("m.hlo", "HloModule m, replica_count=2\n" + std::string(kAddTwo) + R"(
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  d = f32[4] subtract(x, y)
  l = f32[4] log(d)
  a = f32[4] all-reduce(l), to_apply=f
  ROOT n = f32[4] negate(a)
}
)");
  const std::string inputs = " -i x='{2,2,2,2}' -i y='{1,1,1,1}' -i 'r1/x={0,0,0,0}'";
  const Outcome outcome =
      Run("minimize --format=json --judge-nan " + file + inputs + " -j 1 -o " + Path("small"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["instructions"][1], 2) << json["text"];
  EXPECT_EQ(json["elements"][1], 1) << json["text"];
  const std::string text = ReadFile(Path("small/module.hlo"));
  EXPECT_HAS(text, "log(");
  EXPECT_EQ(text.find("replica_count"), std::string::npos) << text;
  EXPECT_EQ(Run("check " + Path("small")).status, 0);
  EXPECT_HAS(Run(Path("small/module.hlo") + " -i " + Path("small/inputs.npz")).out, "nan");
}

// The second partitioned module computes w + w in place of the sum of the columns of x and w.
TEST_F(SeveralDevices, DiffComparesAModuleWithItsPartitions) {
  const std::string before =
      Write("before.hlo", "HloModule m, num_partitions=2\n" + std::string(kAddTwo) + R"(
ENTRY main {
  x = f32[4,2] parameter(0), sharding={devices=[2,1]<=[2]}
  w = f32[2] parameter(1), sharding={replicated}
  zero = f32[] constant(0)
  all = f32[2] reduce(x, zero), dimensions={0}, to_apply=f
  v = f32[2] add(all, w)
  b = f32[4,2] broadcast(v), dimensions={1}
  ROOT y = f32[4,2] add(x, b), sharding={devices=[2,1]<=[2]}
}
)");
  const std::string inputs = " -i '{{1,2},{3,4},{1,1},{1,1}}' -i '{5,6}'";
  std::string text = kPartitioned;
  const Outcome same = Run("diff --shard --format=json " + before + " " + Write("after.hlo", text) + inputs);
  EXPECT_EQ(same.status, 0) << same.err << same.out;
  Json diff = Json::parse(same.out)["diff"];
  EXPECT_EQ(diff["compared"], 2) << diff;  // v, copied, and the tiles of y.
  EXPECT_EQ(diff["differing"], 0) << diff;
  EXPECT_EQ(diff["unknown"], 1) << diff;  // b has no sharding.
  text.replace(text.find("add(all, w)"), 11, "add(w, w)");
  const Outcome other = Run("diff --shard --format=json " + before + " " + Write("wrong.hlo", text) + inputs);
  EXPECT_EQ(other.status, 1) << other.err << other.out;
  diff = Json::parse(other.out)["diff"];
  EXPECT_EQ(diff["results"].size(), 1u);
  EXPECT_EQ(diff["first"]["a"], "v");
  EXPECT_EQ(diff["first"]["aligned_by"], "name");
}

// With the groups {0,2} and {1,3}, replica 0 has {1+3, 2+4}, and replica 3 has {2+4, 3+5}.
TEST_F(SeveralDevices, DiffComparesTwoModulesOnEachDevice) {
  const std::string file = Write("m.hlo", kPairs);
  std::string text = kPairs;
  text.replace(text.find("{{0,1},{2,3}}"), 13, "{{0,2},{1,3}}");
  for (const std::string engine : {"fast", "reference"}) {
    const std::string flags = " -i '{1,2}' --engine " + engine;
    const Outcome same = Run("diff " + file + " " + file + flags);
    EXPECT_EQ(same.status, 0) << same.err;
    EXPECT_EQ(same.out, "no result of 4 devices differs\n");
    const Outcome groups = Run("diff " + file + " " + Write("groups.hlo", text) + flags);
    EXPECT_EQ(groups.status, 1);
    EXPECT_HAS(groups.out, "result of r0:\n  the value: 2 of 2 elements differ");
    EXPECT_HAS(groups.out, "got 4, want 3");
    EXPECT_HAS(groups.out, "result of r3:");
    EXPECT_HAS(groups.out, " aligned values differ on r0\nthe first, aligned by ");
    EXPECT_HAS(groups.out, "all-reduce");
  }
  std::string other = kPairs;
  other.replace(other.find("convert(r)"), 10, "constant(1)");
  const Outcome constant = Run("diff " + file + " " + Write("c.hlo", other) + " -i '{1,2}' --format=json");
  EXPECT_EQ(constant.status, 1);
  EXPECT_EQ(Json::parse(constant.out)["diff"]["first"]["a"], "b");  // Constants are not computed.
  const Outcome counts = Run("diff " + file + " " + Write("one.hlo", kAdd) + " -i '{1,2}'");
  EXPECT_EQ(counts.status, 2);
  EXPECT_HAS(counts.err, "its 1 replica of 1 partition cannot be compared with 4 of 1");
}

// On replica 3, s is {4, 5} and a is {7, 9}.
TEST_F(SeveralDevices, PartsAreRecordedOnADevice) {
  std::string text = kPairs;
  text.replace(text.find("ROOT a"), 6, "a");
  text.insert(text.rfind('}'), "  ROOT n = f32[2] negate(a)\n");
  const std::string file = Write("m.hlo", text) + " -i '{1,2}' --for-device r3 ";
  const std::string part = Path("part.hlo");
  const Outcome extract = Run("extract " + file + "--instruction a --height 0 --constants -o " + part);
  EXPECT_EQ(extract.status, 0) << extract.err;
  EXPECT_HAS(ReadFile(part), "{4, 5}");
  const Outcome slice = Run("slice " + file + "--root n --height 0 -o " + Path("case"));
  EXPECT_EQ(slice.status, 0) << slice.err;
  EXPECT_HAS(ReadFile(Path("case/module.hlo")), "negate");
  EXPECT_EQ(Run("check " + Path("case")).status, 0);
  EXPECT_EQ(Run(Path("case/module.hlo") + " -i " + Path("case/inputs.npz")).out, "f32[2] {-7, -9}\n");
  const Outcome collective = Run("slice " + file + "--root n --height 1 -o " + Path("other"));
  EXPECT_EQ(collective.status, 3);
  EXPECT_HAS(collective.err, "exchanges values with others");
}

// A step of training by hand: the gradient of w lacks its all-reduce, that of b has one.
const std::string kStep = "HloModule step, replica_count=2\n" + std::string(kAddTwo) + R"(
ENTRY e {
  w = f32[2] parameter(0)
  b = f32[2] parameter(1)
  batch = f32[2] parameter(2)
  grad.w = f32[2] multiply(batch, batch)
  grad.b = f32[2] negate(batch)
  sum.b = f32[2] all-reduce(grad.b), replica_groups={{0,1}}, to_apply=f
  new.w = f32[2] subtract(w, grad.w)
  new.b = f32[2] subtract(b, sum.b)
  ROOT t = (f32[2], f32[2]) tuple(new.w, new.b)
})";

TEST_F(SeveralDevices, DiffFindsAMissingAllReduce) {
  const std::string file = Write("m.hlo", kStep);
  const std::string inputs = " -i '{1,1}' -i '{1,1}' -i '{1,2}' -i 'r1/batch={1,3}'";
  for (const std::string engine : {"fast", "reference"}) {
    const Outcome outcome = Run("diff --replicas-agree " + file + inputs + " --engine " + engine);
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_HAS(outcome.out, "result {0} differs between r0 and r1 in 1 element, first at {1}: -3 and -8\n");
    EXPECT_HAS(outcome.out, "values that agree meet values that differ in %new.w");
    EXPECT_HAS(outcome.out, "%w agrees\n");
    EXPECT_HAS(outcome.out, "%grad.w differs\n");
    EXPECT_HAS(outcome.out, "the devices are given different %batch\n");
    EXPECT_HAS(outcome.out, "%batch -> %grad.w -> %new.w");
    EXPECT_HAS(outcome.out, "no collective is on this path\n");
    EXPECT_EQ(outcome.out.find("result {1}"), std::string::npos);
  }
  const Outcome same = Run("diff --replicas-agree " + file + " --random 1");
  EXPECT_EQ(same.status, 0);
  EXPECT_EQ(same.out, "2 devices agree in all results\n");
  const Json json =
      Json::parse(Run("diff --replicas-agree " + file + inputs + " --format=json").out)["disagreements"];
  ASSERT_EQ(json.size(), 1);
  EXPECT_EQ(json[0]["diverges_at"], "new.w");
  EXPECT_EQ(json[0]["path"], (std::vector<std::string>{"batch", "grad.w", "new.w", "t"}));
}

TEST_F(SeveralDevices, DevicesOfAModuleWithoutCollectivesAreDistinguishedIfTheirArgumentsDiffer) {
  const std::string file = Write("m.hlo", R"(HloModule m, replica_count=2
ENTRY e {
  w = f32[2] parameter(0)
  batch = f32[2] parameter(1)
  ROOT new.w = f32[2] subtract(w, batch)
})");
  EXPECT_EQ(Run(file + " --random 1").out.find("r1"), std::string::npos);
  EXPECT_HAS(Run(file + " --random 1 --per-device batch").out, "r1");
  const std::string inputs = " -i '{1,1}' -i '{1,2}' -i 'r1/batch={1,3}'";
  const Outcome outcome = Run("diff --replicas-agree " + file + inputs);
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_HAS(outcome.out, "values that agree meet values that differ in %new.w");
}

TEST_F(SeveralDevices, DiffNamesTheFirstDifference) {
  const std::string file = Write("m.hlo", "HloModule m, replica_count=2\n" + std::string(kAddTwo) + R"(
ENTRY e {
  x = f32[] parameter(0)
  r = u32[] replica-id()
  c = f32[] convert(r)
  ROOT y = f32[] add(x, c)
})");
  EXPECT_HAS(Run("diff --replicas-agree " + file + " -i 1").out,
             "the difference begins in %r, a replica-id\n");
}

TEST_F(SeveralDevices, DiffComparesPartitionsByTheShardingOfTheResult) {
  const std::string file = Write("m.hlo", kPartitioned);
  const std::string parts = " --random 1 --fill=iota";
  EXPECT_EQ(Run("diff --replicas-agree " + file + parts + " --shard").status, 0);
  EXPECT_EQ(Run("diff --replicas-agree " + file + parts).status, 1);
}

}  // namespace
}  // namespace hlo::cli_test
