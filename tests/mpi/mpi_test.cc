// Tests runs of several processes by their output and exit status. The cases that CTest runs by mpirun test
// values.

#include <chrono>
#include <regex>
#include <string>

#include "cli_fixture.h"
#include "fmt/format.h"

namespace {

using namespace hlo::cli_test;

class Mpi : public Cli {
 protected:
  // Runs the words of a shell in some processes, with at most this many seconds.
  Outcome Launch(const std::string& words) {
    return RunShell(fmt::format("timeout 60 {} {} >{}", HLO_RUN_LAUNCHER, words, Path("stdout")));
  }
  // Writes a script that performs an action in the process whose rank is the first argument, and executes the
  // other arguments in all.
  std::string ScriptWith(const std::string& action) {
    return Write("script.sh", "rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\n[ \"$rank\" != \"$1\" ] || " +
                                  action + "\nshift\nexec \"$@\"\n");
  }
  Outcome RunOn(int count, const std::string& arguments) {
    return Launch(fmt::format("-n {} {} {}", count, HLO_RUN_BINARY, arguments));
  }
};

// A case in which four replicas execute `collective`; replica r has x = r.
std::string CaseOf(const std::string& collective, const std::string& expected) {
  return fmt::format(R"(// a case
// run  replicas 4
HloModule m, replica_count=4
f {{
  x = s32[] parameter(0)
  y = s32[] parameter(1)
  ROOT z = s32[] add(x, y)
}}
g {{
  x = s32[] parameter(0)
  y = s32[] parameter(1)
  ROOT z = s32[] maximum(x, y)
}}
a {{
  x = s32[] parameter(0)
  ROOT r = s32[] all-reduce(x), replica_groups={{}}, to_apply=f
}}
b {{
  x = s32[] parameter(0)
  ROOT r = s32[] all-reduce(x), replica_groups={{}}, to_apply=g
}}
go {{
  s = s32[] parameter(0)
  ROOT l = pred[] constant(true)
}}
same {{
  s = s32[] parameter(0)
  ROOT t = s32[] add(s, s)
}}
ENTRY e {{
  x = s32[] parameter(0)
  {}
}}
// in@0  0
// in@1  1
// in@2  2
// in@3  3
{})",
                     collective, expected);
}

constexpr char kSums[] = "// out@0 6\n// out@1 6\n// out@2 6\n// out@3 6\n";
constexpr char kSum[] = "ROOT r = s32[] all-reduce(x), replica_groups={}, to_apply=f";
constexpr char kLoop[] = "ROOT r = s32[] while(x), condition=go, body=same";

TEST_F(Mpi, OnlyProcess0PrintsForAnyNumberOfProcesses) {
  const std::string file = Write("m.hlo", CaseOf(kSum, kSums));
  for (const int count : {1, 3, 7}) {
    const Outcome run = RunOn(count, "check --verbose " + file);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out.find("passed: "), run.out.rfind("passed: ")) << run.out;
    EXPECT_HAS(run.out, "1 case: 1 passed");
    EXPECT_EQ(run.err, "");
  }
}

TEST_F(Mpi, ModulesOfOneDeviceRunInProcess0) {
  const Outcome run = RunOn(3, Write("add.hlo", kAdd) + " --input 'f32[2]{1,2}' -i 'f32[2] {0.5, 10}'");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "f32[2] {1.5, 12}\n");
}

TEST_F(Mpi, AWrongResultIsTheExitStatusOfAll) {
  const std::string file = Write("m.hlo", CaseOf(kSum, "// out@0 6\n// out@1 6\n// out@2 6\n// out@3 7\n"));
  const Outcome run = RunOn(2, "check " + file);
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_HAS(run.out, "device 3");
}

TEST_F(Mpi, ABadFileIsReportedOnce) {
  const Outcome run = RunOn(3, "verify " + Write("m.hlo", "ENTRY e {"));
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.err.find("error: "), run.err.rfind("error: ")) << run.err;
}

// Removes the time that a check took.
std::string WithoutTime(const std::string& report) {
  return std::regex_replace(report, std::regex(" in [0-9.]+ s\n"), "\n");
}

// Without a launcher and with one, the report of devices that wait for each other is the same.
TEST_F(Mpi, DeadlocksAreReportedInTheSameWords) {
  const std::string file =
      Write("m.hlo", CaseOf("ROOT r = s32[] conditional(x, x, x), branch_computations={a, b}", kSums));
  const Outcome alone = Run("check " + file);
  EXPECT_HAS(alone.out, "deadlock");
  EXPECT_HAS(alone.out, "the collectives do not match");
  for (const int count : {2, 4}) {
    const Outcome run = RunOn(count, "check " + file);
    EXPECT_EQ(run.status, alone.status);
    EXPECT_EQ(WithoutTime(run.out), WithoutTime(alone.out));
  }
}

TEST_F(Mpi, AFailureInAnotherProcessNamesItsDevice) {
  const std::string file =
      Write("m.hlo", CaseOf("c = s32[1] reshape(x)\n  ROOT r = s32[1] collective-broadcast(c, c), "
                            "replica_groups={{0,1},{2,3}}, has_dynamic_root=true",
                            kSums));
  const Outcome alone = Run("check " + file), run = RunOn(2, "check " + file);
  EXPECT_HAS(alone.out, "name different roots");
  EXPECT_EQ(WithoutTime(run.out), WithoutTime(alone.out));
}

TEST_F(Mpi, OtherArgumentsAreAnError) {
  const std::string file = Write("m.hlo", CaseOf(kSum, kSums)), other = Write("o.hlo", CaseOf(kSum, kSums));
  const Outcome run =
      Launch(fmt::format("-n 1 {0} check {1} : -n 1 {0} check {2}", HLO_RUN_BINARY, file, other));
  EXPECT_EQ(run.status, 2);
  EXPECT_HAS(run.err, "process 1 was started with other arguments than process 0");
  EXPECT_HAS(run.err, other);
}

// The processor time of one process is limited, and its devices never end.
TEST_F(Mpi, AProcessThatIsKilledEndsTheOthers) {
  const std::string file = Write("m.hlo", CaseOf(kLoop, kSums));
  const std::string script = ScriptWith("ulimit -t 1");
  for (const int victim : {0, 1}) {
    const auto start = std::chrono::steady_clock::now();
    const Outcome run = Launch(
        fmt::format("-n 2 sh {} {} {} check --engine=reference {}", script, victim, HLO_RUN_BINARY, file));
    EXPECT_NE(run.status, 0);
    EXPECT_NE(run.status, 124) << "it did not end";
    EXPECT_NE(run.err + run.out, "");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(50));
  }
}

TEST_F(Mpi, ALimitOfTimeHoldsInAllProcesses) {
  const std::string file = Write("m.hlo", CaseOf(kLoop, kSums));
  const Outcome run = RunOn(2, "check --max-seconds 0.5 " + file);
  EXPECT_NE(run.status, 0);
  EXPECT_NE(run.status, 124) << "it did not end";
  EXPECT_HAS(run.out, "--max-seconds");
}

// One process is stopped while its devices run, and does not end at the limit.
TEST_F(Mpi, AProcessThatIsStoppedEndsTheOthersAtTheLimit) {
  const std::string file = Write("m.hlo", CaseOf(kLoop, kSums));
  const std::string script = ScriptWith("(sleep 3; kill -STOP $$) &");
  for (const int victim : {0, 2}) {
    const Outcome run =
        Launch(fmt::format("-n 3 env HLO_RUN_MPI_SILENCE=3 sh {} {} {} check --max-seconds 4 {}", script,
                           victim, HLO_RUN_BINARY, file));
    EXPECT_NE(run.status, 0);
    EXPECT_NE(run.status, 124) << "it did not end";
    EXPECT_HAS(run.err, fmt::format("process {} has not answered", victim));
  }
}

// Only replica 1, in process 1, computes an array.
TEST_F(Mpi, ALimitOfMemoryHoldsInAllProcesses) {
  const std::string file = Write("m.hlo", R"(HloModule m, replica_count=2
small { x = f32[] parameter(0) ROOT y = f32[] negate(x) }
large {
  x = f32[] parameter(0)
  b = f32[1024,1024] broadcast(x), dimensions={}
  i = s32[] constant(7)
  s = f32[1,1] dynamic-slice(b, i, i), dynamic_slice_sizes={1,1}
  ROOT r = f32[] reshape(s)
}
ENTRY e {
  x = f32[] parameter(0)
  r = u32[] replica-id()
  i = s32[] convert(r)
  ROOT c = f32[] conditional(i, x, x), branch_computations={small, large}
})") + " --engine=reference -i 1";
  EXPECT_EQ(RunOn(2, file).status, 0);
  const Outcome run = RunOn(2, file + " --max-memory 1MiB");
  EXPECT_EQ(run.status, 4);
  EXPECT_HAS(run.err, "do not fit into memory");
  EXPECT_HAS(run.err, "device 1");
}

TEST_F(Mpi, ObserversNeedOneProcess) {
  const std::string file = Write("m.hlo", CaseOf(kSum, kSums));
  const Outcome profile = RunOn(2, "profile -i 1 " + file),
                trace = RunOn(2, "trace -i 1 --for-device 3 " + file);
  for (const Outcome& run : {profile, trace}) {
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_HAS(run.err,
               "warning: all devices run in process 0: their values are observed, which one process does\n");
  }
  EXPECT_HAS(trace.out, "%r = s32[] all-reduce");
}

TEST_F(Mpi, ResultsAndFilesAreThoseOfOneProcess) {
  const std::string file = Write("m.hlo", R"(
f { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
ENTRY e {
  x = f32[100] parameter(0)
  r = u32[] replica-id()
  c = f32[] convert(r)
  b = f32[100] broadcast(c), dimensions={}
  y = f32[100] divide(x, b)
  a = f32[100] all-reduce(x), replica_groups={{0,3,1,2,4}}, to_apply=f
  p = f32[100] collective-permute(y), source_target_pairs={{0,4},{4,2},{2,0}}
  ROOT s = f32[100] add(a, p)
})") + " --random 3 --per-device all ";
  const Outcome alone = Run(file), run = RunOn(3, file);
  EXPECT_EQ(alone.status, 0) << alone.err;
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, alone.out);
  EXPECT_EQ(Run(file + "-o " + Path("alone.npz")).status, 0);
  EXPECT_EQ(RunOn(2, file + "-o " + Path("run.npz")).status, 0);
  EXPECT_EQ(ReadFile(Path("run.npz")), ReadFile(Path("alone.npz")));
}

TEST_F(Mpi, WaitingIsLimited) {
  // Replica 0, in process 0, never comes.
  const std::string file = Write("m.hlo", R"(
f { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = s32[] add(x, y) }
go { s = s32[] parameter(0) ROOT l = pred[] constant(true) }
same { s = s32[] parameter(0) ROOT t = s32[] add(s, s) }
a { x = s32[] parameter(0) ROOT w = s32[] while(x), condition=go, body=same }
b { x = s32[] parameter(0) ROOT r = s32[] all-reduce(x), replica_groups={}, to_apply=f }
ENTRY e {
  x = s32[] parameter(0)
  r = u32[] replica-id()
  i = s32[] convert(r)
  ROOT c = s32[] conditional(i, x, x), branch_computations={a, b}
})");
  const Outcome run = RunOn(2, file + " --replicas 2 -i 1 --collective-timeout 0.5");
  EXPECT_NE(run.status, 0);
  EXPECT_NE(run.status, 124) << "it did not end";
  EXPECT_HAS(run.err, "see --collective-timeout");
  EXPECT_HAS(run.err, "device 1 (replica 1, partition 0) waits at");
  EXPECT_HAS(run.err, "device 0 (replica 0, partition 0), which is still running");
}

TEST_F(Mpi, VersionNamesTheLibrary) {
  const Outcome run = RunOn(2, "--version");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out.find("MPI: no"), std::string::npos);
  EXPECT_HAS(run.out, "MPI: ");
}

}  // namespace
