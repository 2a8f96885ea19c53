// Tests runs on several devices: errors, devices that wait for each other, and independence of timing. The
// cases of tests/cases/spmd test values.

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <tuple>

#include "base/parallel.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/compare.h"
#include "hlo_run/execute.h"
#include "hlo_run/parse.h"
#include "local_processes.h"

namespace hlo::devices_test {
namespace {

struct Outcome {
  std::string error;  // Empty if the run succeeded.
  absl::StatusCode code = absl::StatusCode::kOk;
  std::vector<std::string> warnings;
  std::vector<std::string> results;  // By device.
  // The runs and copied bytes of steps that GPUs left to the CPU, in this process.
  std::map<std::string, std::pair<int64_t, int64_t>> fallbacks;
};

struct Target {
  const char* name;
  Engine engine;
  Device device = {};
};

// The engine and the device that run a case, and the number of processes.
class Devices : public testing::TestWithParam<std::tuple<Target, int>> {
 protected:
  static const Target& target() { return std::get<0>(GetParam()); }

  // Runs a module on `replicas` devices. The argument of device d is the scalar d, if it has a parameter.
  static Outcome Run(const std::string& text, int64_t replicas, const DevicesOptions& devices = {},
                     const EvaluateOptions& options = {}, int64_t partitions = 1) {
    Outcome outcome;
    Diagnostics diagnostics;
    const auto source = std::make_shared<SourceText>("m.hlo", text);
    const std::shared_ptr<Module> module = Parse(source, diagnostics);
    EXPECT_NE(module, nullptr) << Message(diagnostics.ToStatus(*source));
    module->mutable_header().replica_count = replicas;
    module->mutable_header().num_partitions = partitions;
    const absl::StatusOr<CheckedModule> checked = Check(module, diagnostics);
    EXPECT_TRUE(checked.ok()) << Message(checked.status());
    std::vector<std::vector<Literal>> arguments(replicas * partitions);
    for (size_t d = 0; d < arguments.size(); ++d) {
      for (const Instruction* parameter : module->entry()->parameters()) {
        Literal value = *Literal::CreateZeros(parameter->shape());
        for (int32_t& element : value.mutable_span<int32_t>()) element = static_cast<int32_t>(d);
        arguments[d].push_back(std::move(value));
      }
    }
    absl::StatusOr<Executable> executable =
        Executable::Make(*checked, target().engine, options, target().device);
    absl::StatusOr<std::vector<Literal>> results = absl::InternalError("not run");
    if (!executable.ok()) {
      results = executable.status();
    } else {
      EXPECT_EQ(executable->engine(), target().engine) << executable->fallback_reason();
      const int process_count = std::get<1>(GetParam());
      std::optional<LocalProcesses> processes;
      if (process_count > 1) processes.emplace(process_count);
      DevicesOptions all = devices;
      if (processes) all.processes = processes->main();
      all.warn = [&](const std::string& warning) { outcome.warnings.push_back(warning); };
      results = executable->RunDevices(std::move(arguments), options, all);
      for (const Fallback& fallback : executable->fallbacks())
        outcome.fallbacks[std::string(fallback.instruction->name())] = {fallback.runs, fallback.bytes};
      if (processes) {
        EXPECT_EQ(processes->main()->last_run, 1);
      }
    }
    outcome.code = results.status().code();
    outcome.error = Message(results.status());
    if (results.ok()) {
      for (const Literal& result : *results) outcome.results.push_back(ToString(result));
    }
    return outcome;
  }
};

constexpr std::string_view kAdd =
    "f { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = s32[] add(x, y) }\n";

void ExpectIn(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in\n" << text;
}

// A loop around an all-reduce; the trip count is replica-id + 1.
std::string UnequalTripCounts() {
  return std::string(kAdd) + R"(
c {
  s = (u32[], u32[], s32[]) parameter(0)
  i = u32[] get-tuple-element(s), index=0
  n = u32[] get-tuple-element(s), index=1
  ROOT l = pred[] compare(i, n), direction=LT
}
b {
  s = (u32[], u32[], s32[]) parameter(0)
  i = u32[] get-tuple-element(s), index=0
  j = u32[] constant(1)
  i1 = u32[] add(i, j)
  n = u32[] get-tuple-element(s), index=1
  x = s32[] get-tuple-element(s), index=2
  y = s32[] all-reduce(x), replica_groups={}, to_apply=f
  ROOT t = (u32[], u32[], s32[]) tuple(i1, n, y)
}
ENTRY e {
  x = s32[] parameter(0)
  z = u32[] constant(0)
  r = u32[] replica-id()
  one = u32[] constant(1)
  n = u32[] add(r, one)
  t = (u32[], u32[], s32[]) tuple(z, n, x)
  w = (u32[], u32[], s32[]) while(t), condition=c, body=b
  ROOT v = s32[] get-tuple-element(w), index=2
})";
}

TEST_P(Devices, ADeviceThatHasEndedIsNamedWithItsExecutions) {
  const Outcome outcome = Run(UnequalTripCounts(), 2);
  EXPECT_EQ(outcome.code, absl::StatusCode::kFailedPrecondition);
  ExpectIn(outcome.error, "deadlock");
  ExpectIn(outcome.error,
           "device 1 (replica 1, partition 0) waits at m.hlo:16:13: 'y' (s32[] all-reduce), execution 2, for "
           "device 0 "
           "(replica 0, partition 0), which has ended after executing it 1 time");
}

// Conditionals on the replica with these branches; replica 0 takes the first.
std::string Branches(const std::string& even, const std::string& odd) {
  return fmt::format(R"({}
a {{
  x = s32[4] parameter(0)
  {}
}}
b {{
  x = s32[4] parameter(0)
  {}
}}
ENTRY e {{
  x = s32[4] parameter(0)
  r = u32[] replica-id()
  z = u32[] constant(0)
  p = pred[] compare(r, z), direction=EQ
  ROOT v = s32[4] conditional(p, x, x), true_computation=a, false_computation=b
}})",
                     kAdd, even, odd);
}

TEST_P(Devices, CollectivesOfDifferentKindsDoNotMatch) {
  const Outcome outcome = Run(Branches("ROOT r = s32[4] all-reduce(x), replica_groups={}, to_apply=f",
                                       "ROOT r = s32[4] all-to-all(x), replica_groups={}, dimensions={0}"),
                              2);
  EXPECT_EQ(outcome.code, absl::StatusCode::kFailedPrecondition);
  ExpectIn(outcome.error, "deadlock");
  ExpectIn(outcome.error,
           "device 0 (replica 0, partition 0) waits at m.hlo:5:19: 'r' (s32[4] all-reduce), execution 1");
  ExpectIn(outcome.error,
           "the collectives do not match: device 0 (replica 0, partition 0) executes all-reduce(s32[4]) by "
           "add(s32[] 0, "
           "s32[] 1), but device 1 (replica 1, partition 0) executes all-to-all(s32[4]) along 0");
}

TEST_P(Devices, CollectivesOfOneKindArePairedByArrivalWithAWarning) {
  const std::string text = Branches("ROOT r = s32[4] all-reduce(x), replica_groups={}, to_apply=f",
                                    "ROOT s = s32[4] all-reduce(x), replica_groups={}, to_apply=f");
  const Outcome outcome = Run(text, 2);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.results, (std::vector<std::string>{"{1, 1, 1, 1}", "{1, 1, 1, 1}"}));
  ASSERT_EQ(outcome.warnings.size(), 1);
  ExpectIn(outcome.warnings[0], "paired by order of arrival");
  ExpectIn(outcome.warnings[0], "m.hlo:5:19: 'r'");
  ExpectIn(outcome.warnings[0], "m.hlo:9:19: 's'");
  ExpectIn(Run(text, 2, {.strict_match = true}).error, "deadlock");
}

TEST_P(Devices, ReducersMustAgree) {
  const std::string text =
      "g { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = s32[] maximum(x, y) }\n" +
      Branches("ROOT r = s32[4] all-reduce(x), replica_groups={}, to_apply=f",
               "ROOT s = s32[4] all-reduce(x), replica_groups={}, to_apply=g");
  ExpectIn(Run(text, 2).error, "the collectives do not match");
}

TEST_P(Devices, DevicesThatWaitForEachOtherAreADeadlock) {
  // Replica 0 meets 1 first, 1 meets 2 first, 2 meets 0 first.
  const Outcome outcome = Run(std::string(kAdd) + R"(
t0 { x = s32[] parameter(0) ROOT a0 = s32[] all-reduce(x), replica_groups={{0,1},{2}}, to_apply=f }
t1 { x = s32[] parameter(0) ROOT a1 = s32[] all-reduce(x), replica_groups={{1,2},{0}}, to_apply=f }
t2 { x = s32[] parameter(0) ROOT a2 = s32[] all-reduce(x), replica_groups={{2,0},{1}}, to_apply=f }
ENTRY e {
  x = s32[] parameter(0)
  ROOT v = s32[] conditional(x, x, x, x), branch_computations={t0, t1, t2}
})",
                              3);
  ExpectIn(outcome.error, "deadlock");
  ExpectIn(outcome.error, "device 2 (replica 2, partition 0) waits at");
  ExpectIn(outcome.error,
           "'a2' (s32[] all-reduce), execution 1, for device 0 (replica 0, partition 0), which waits at");
}

std::string Transfer(const std::string& send_pairs, const std::string& recv_pairs) {
  return fmt::format(R"(ENTRY e {{
  x = s32[] parameter(0)
  k = token[] after-all()
  v = (s32[], u32[], token[]) recv(k), frontend_attributes={{_xla_send_recv_source_target_pairs="{}"}}
  s = (s32[], u32[], token[]) send(x, k), frontend_attributes={{_xla_send_recv_source_target_pairs="{}"}}
  d = (s32[], token[]) recv-done(v)
  t = token[] send-done(s)
  ROOT r = s32[] get-tuple-element(d), index=0
}})",
                     recv_pairs, send_pairs);
}

TEST_P(Devices, AReceiveWithoutASendIsADeadlock) {
  const Outcome outcome = Run(Transfer("{{1,0}}", "{{0,1}}"), 2);
  ExpectIn(outcome.error, "deadlock");
  ExpectIn(outcome.error,
           "'d' ((s32[], token[]) recv-done), execution 1, for a value from device 0 (replica 0, partition "
           "0), which has "
           "ended");
}

TEST_P(Devices, AValueThatNobodyReceivesIsAWarning) {
  const Outcome outcome = Run(Transfer("{{0,1}}", "{}"), 2);
  EXPECT_EQ(outcome.error, "");
  ASSERT_EQ(outcome.warnings.size(), 1);
  ExpectIn(
      outcome.warnings[0],
      "1 of its values from device 0 (replica 0, partition 0) to device 1 (replica 1, partition 0) was never "
      "received");
}

TEST_P(Devices, TransfersNeedPairs) {
  const Outcome outcome = Run(R"(ENTRY e {
  x = s32[] parameter(0)
  k = token[] after-all()
  s = (s32[], u32[], token[]) send(x, k)
  t = token[] send-done(s)
  ROOT y = s32[] copy(x)
})",
                              2);
  ExpectIn(outcome.error, "m.hlo:4:31: 's'");
  ExpectIn(outcome.error, "has no frontend attribute _xla_send_recv_source_target_pairs");
}

TEST_P(Devices, AReceiveIsCompletedAfterALoop) {
  // The recv starts in one iteration and completes in the next.
  const Outcome outcome = Run(R"(
c {
  s = (s32[], s32[], (s32[], u32[], token[])) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT
}
b {
  s = (s32[], s32[], (s32[], u32[], token[])) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = s32[] get-tuple-element(s), index=1
  v = (s32[], u32[], token[]) get-tuple-element(s), index=2
  d = (s32[], token[]) recv-done(v)
  y = s32[] get-tuple-element(d), index=0
  k = token[] get-tuple-element(d), index=1
  w = (s32[], u32[], token[]) recv(k), frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,0}}"}
  z = s32[] add(y, one)
  q = (s32[], u32[], token[]) send(z, k), frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,0}}"}
  e = token[] send-done(q)
  ROOT t = (s32[], s32[], (s32[], u32[], token[])) tuple(j, y, w)
}
ENTRY main {
  x = s32[] parameter(0)
  k = token[] after-all()
  v = (s32[], u32[], token[]) recv(k), frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,0}}"}
  q = (s32[], u32[], token[]) send(x, k), frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,0}}"}
  e = token[] send-done(q)
  zero = s32[] constant(0)
  t = (s32[], s32[], (s32[], u32[], token[])) tuple(zero, x, v)
  w = (s32[], s32[], (s32[], u32[], token[])) while(t), condition=c, body=b
  u = (s32[], u32[], token[]) get-tuple-element(w), index=2
  d = (s32[], token[]) recv-done(u)
  ROOT r = s32[] get-tuple-element(d), index=0
})",
                              2);
  EXPECT_EQ(outcome.error, "");
  // Each hop adds 1; after four hops the value is back at its device, from where the receive takes it.
  EXPECT_EQ(outcome.results, (std::vector<std::string>{"3", "4"}));
}

TEST_P(Devices, TheFirstFailureIsReportedWithItsDevice) {
  // Replica 2 names a root that its group does not have, so only its own group fails.
  const Outcome outcome = Run(R"(
ENTRY e {
  x = s32[1] parameter(0)
  two = s32[1] constant({2})
  y = s32[1] and(x, two)
  ROOT b = s32[1] collective-broadcast(x, y), replica_groups={{0,1},{2,3}}, has_dynamic_root=true
})",
                              4);
  EXPECT_EQ(outcome.code, absl::StatusCode::kFailedPrecondition);
  ExpectIn(outcome.error, "m.hlo:6:");
  ExpectIn(outcome.error,
           "the root is number 2 of its group, which has 2 members (on device 2 (replica 2, partition 0))");
}

TEST_P(Devices, RootsMustAgree) {
  ExpectIn(Run(R"(
ENTRY e {
  x = s32[1] parameter(0)
  ROOT b = s32[1] collective-broadcast(x, x), replica_groups={{0,1}}, has_dynamic_root=true
})",
               2)
               .error,
           "the members of a group name different roots: number 0 names 0, number 1 names 1");
}

TEST_P(Devices, CollectiveReduceGivesTheFoldToRoots) {
  const Outcome outcome = Run(std::string(kAdd) + R"(
ENTRY e {
  x = s32[2] parameter(0)
  ROOT b = s32[2] collective-reduce(x), replica_groups={{2,1,0}}, to_apply=f
})",
                              4);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.results, (std::vector<std::string>{"{0, 0}", "{0, 0}", "{3, 3}", "{0, 0}"}));
}

TEST_P(Devices, RaggedSizesMustAgree) {
  ExpectIn(Run(R"(
ENTRY e {
  x = s32[2] parameter(0)
  z = s32[2] constant({0, 0})
  one = s32[2] constant({1, 1})
  ROOT r = s32[2] ragged-all-to-all(x, z, z, x, z, one), replica_groups={{0,1}}
})",
               2)
               .error,
           "member 0 sends 0 rows to member 0 in update 0, but the receiver expects 1");
}

TEST_P(Devices, OverlappingRowsAreAWarning) {
  const Outcome outcome = Run(R"(
ENTRY e {
  x = s32[2] parameter(0)
  z = s32[2] constant({0, 0})
  one = s32[2] constant({1, 1})
  ROOT r = s32[2] ragged-all-to-all(x, x, z, one, z, one), replica_groups={{0,1}}
})",
                              2);
  EXPECT_EQ(outcome.error, "");
  // The later sender wins.
  EXPECT_EQ(outcome.results, (std::vector<std::string>{"{1, 0}", "{1, 1}"}));
  ASSERT_EQ(outcome.warnings.size(), 1);
  ExpectIn(outcome.warnings[0], "two updates write the same rows");
}

TEST_P(Devices, AnInPlacePermuteKeepsOtherElementsOfTheOutput) {
  // spmd 7, example 16, with 10r in place of the input's elements.
  const Outcome outcome = Run(R"(
ENTRY e {
  x = s32[2,2] parameter(0)
  m = s32[] constant(-1)
  o = s32[2,4] broadcast(m), dimensions={}
  zero = s32[] constant(0)
  two = s32[] constant(2)
  from = (s32[], s32[]) tuple(zero, zero)
  to = (s32[], s32[]) tuple(zero, two)
  ROOT r = s32[2,4] collective-permute(x, o, from, to), source_target_pairs={{0,1},{1,2}}, slice_sizes={{2,2}}
})",
                              3);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.results, (std::vector<std::string>{"{ { -1, -1, -1, -1 }, { -1, -1, -1, -1 } }",
                                                       "{ { -1, -1, 0, 0 }, { -1, -1, 0, 0 } }",
                                                       "{ { -1, -1, 1, 1 }, { -1, -1, 1, 1 } }"}));
}

TEST_P(Devices, GroupsThatDoNotFitNameTheCountsThatDo) {
  const Outcome outcome = Run(std::string(kAdd) + R"(
ENTRY e {
  x = s32[] parameter(0)
  ROOT r = s32[] all-reduce(x), replica_groups={{0,1,2,3}}, to_apply=f
})",
                              2);
  EXPECT_EQ(outcome.code, absl::StatusCode::kFailedPrecondition);
  ExpectIn(outcome.error,
           "m.hlo:5:18: 'r' (s32[] all-reduce): replica_groups has the id 2, but the run has 2 replicas; the "
           "groups and "
           "pairs of the module fit --replicas 4 --partitions 1");
}

TEST_P(Devices, ARunOnOneDeviceRejectsAModuleForSeveral) {
  Diagnostics diagnostics;
  const std::shared_ptr<Module> module =
      Parse(std::make_shared<SourceText>(
                "m.hlo", "HloModule m, replica_count=2\nENTRY e { ROOT r = u32[] replica-id() }"),
            diagnostics);
  const CheckedModule checked = *Check(module, diagnostics);
  const absl::Status status = Execute(checked, {}, target().engine, {}, target().device).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  ExpectIn(std::string(Message(status)), "needs 2 replicas and 1 partition; the run has one device");
}

// A member of a device's group never comes, because it computes.
std::string EndlessPeer() {
  return std::string(kAdd) + R"(
go { s = s32[4] parameter(0) ROOT l = pred[] constant(true) }
twice { s = s32[4] parameter(0) ROOT t = s32[4] add(s, s) }
)" +
         Branches("ROOT w = s32[4] while(x), condition=go, body=twice",
                  "ROOT r = s32[4] all-reduce(x), replica_groups={}, to_apply=f")
             .substr(kAdd.size());
}

TEST_P(Devices, TheTimeLimitHoldsForDevicesThatWait) {
  const Outcome outcome = Run(EndlessPeer(), 2, {}, {.max_seconds = 0.3});
  EXPECT_EQ(outcome.code, absl::StatusCode::kDeadlineExceeded);
}

TEST_P(Devices, TheTimeoutOfCollectivesNamesTheDeviceThatIsMissing) {
  const Outcome outcome = Run(EndlessPeer(), 2, {.collective_timeout = 0.1}, {.max_seconds = 1});
  EXPECT_EQ(outcome.code, absl::StatusCode::kDeadlineExceeded);
  if (outcome.error.find("--collective-timeout") == std::string::npos) {
    // The endless device reaches its own limit too and has the lower number.
    ExpectIn(outcome.error, "(on device 0");
  }
}

TEST_P(Devices, ManyDevicesShareAPlanAndFewRunAtATime) {
  constexpr int64_t kCount = 512;
  const Outcome outcome = Run(std::string(kAdd) + R"(
ENTRY e {
  x = s32[16] parameter(0)
  a = s32[16] all-reduce(x), replica_groups={}, to_apply=f
  p = s32[16] collective-permute(a), source_target_pairs={{0,511},{511,0}}
  ROOT r = s32[16] add(p, x)
})",
                              kCount);
  EXPECT_EQ(outcome.error, "");
  ASSERT_EQ(outcome.results.size(), kCount);
  const auto repeated = [](int64_t value) {
    std::string text = fmt::format("{{{}", value);
    for (int i = 1; i < 16; ++i) text += fmt::format(", {}", value);
    return text + "}";
  };
  const int64_t sum = kCount * (kCount - 1) / 2;
  EXPECT_EQ(outcome.results[0], repeated(sum));
  EXPECT_EQ(outcome.results[7], repeated(7));
  EXPECT_EQ(outcome.results[511], repeated(sum + 511));
}

TEST_P(Devices, ResultsDoNotDependOnTheNumberOfThreads) {
  const std::string text = R"(
f { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
ENTRY e {
  i = s32[64] parameter(0)
  x = f32[64] convert(i)
  third = f32[] constant(0.3333333)
  t = f32[64] broadcast(third), dimensions={}
  y = f32[64] multiply(x, t)
  ROOT r = f32[64] all-reduce(y), replica_groups={{3,1,2,0,7,5,6,4}}, to_apply=f
})";
  std::vector<std::string> first;
  for (const int threads : {1, 2, 5, 0}) {
    SetThreadCount(threads);
    for (int again = 0; again < 5; ++again) {
      const Outcome outcome = Run(text, 8);
      EXPECT_EQ(outcome.error, "");
      if (first.empty()) first = outcome.results;
      EXPECT_EQ(outcome.results, first);
    }
  }
  SetThreadCount(0);
}

TEST_P(Devices, RandomNumbersDifferBetweenDevicesAndRepeat) {
  const std::string text = R"(
ENTRY e {
  lo = f32[] constant(0)
  hi = f32[] constant(1)
  r = u32[] replica-id()
  ROOT x = f32[4] rng(lo, hi), distribution=rng_uniform, control-predecessors={r}
})";
  const Outcome outcome = Run(text, 2, {}, {.seed = 5}), again = Run(text, 2, {}, {.seed = 5}),
                one = Run(text, 2, {}, {.seed = 6});
  ASSERT_EQ(outcome.error, "");
  ASSERT_EQ(one.error, "");
  EXPECT_EQ(outcome.results, again.results);
  EXPECT_NE(outcome.results[0], outcome.results[1]);
  EXPECT_EQ(outcome.results[1], one.results[0]);
}

// GPUs of several processes copy operands to the host, and results back; those of one process do not.
TEST_P(Devices, GpusExchangeValuesThroughTheHostBetweenProcesses) {
  const Outcome outcome = Run(std::string(kAdd) + R"(
ENTRY e {
  x = s32[16] parameter(0)
  y = s32[16] add(x, x)
  a = s32[16] all-reduce(y), replica_groups={{0,1},{2,3}}, to_apply=f
  ROOT r = s32[16] multiply(a, x)
})",
                              4);
  EXPECT_EQ(outcome.error, "");
  std::map<std::string, std::pair<int64_t, int64_t>> expected;
  if (target().device.kind != Device::Kind::kCpu && std::get<1>(GetParam()) > 1)
    expected["a"] = {2, 2 * 2 * 64};
  EXPECT_EQ(outcome.fallbacks, expected);
}

// The devices take emulated GPUs that order their threads in different ways.
const Target kTargets[] = {{"Reference", Engine::kReference},
                           {"Fast", Engine::kFast},
                           {"Gpus", Engine::kFast, {Device::Kind::kEmulatedGpu, 0, {1, 3}}}};

INSTANTIATE_TEST_SUITE_P(Engines, Devices,
                         testing::Combine(testing::ValuesIn(kTargets), testing::Values(1, 2, 3)),
                         [](const auto& info) {
                           return fmt::format("{}In{}", std::get<0>(info.param).name,
                                              std::get<1>(info.param));
                         });

}  // namespace
}  // namespace hlo::devices_test
