// Tests progress: the loops that observers see, the line on a terminal, and reports of other long activities.

#include "observe/progress.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "hlo_run/check.h"
#include "hlo_run/execute.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"
#include "observe/remaining_time.h"
#include "observe/work_estimate.h"

namespace hlo::progress_test {
namespace {

CheckedModule Load(const std::string& text) {
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(std::make_shared<SourceText>("m.hlo", text), diagnostics);
  EXPECT_NE(module, nullptr) << text;
  return *Check(std::move(module), diagnostics);
}

// An outer loop of three iterations around an inner one. The sort is a separate step.
std::string Nested(const std::string& sorted, int64_t inner) {
  return R"(
inner_body { s = (s32[], s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1  one = s32[] constant(1)  j = s32[] add(i, one)
  m = s32[] multiply(n, n)  ROOT t = (s32[], s32[]) tuple(j, m) }
inner_test { s = (s32[], s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant()" +
         std::to_string(inner) + R"()  ROOT c = pred[] compare(i, end), direction=LT }
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT l = pred[] compare(a, b), direction=LT }
outer_body { s = (s32[], s32[], f32[100]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1  x = f32[100] get-tuple-element(s), index=2
  zero = s32[] constant(0)  begin = (s32[], s32[]) tuple(zero, n)
  inner = (s32[], s32[]) while(begin), condition=inner_test, body=inner_body
  m = s32[] get-tuple-element(inner), index=1  one = s32[] constant(1)  j = s32[] add(i, one)
  y = f32[100] )" +
         sorted + R"(
  ROOT t = (s32[], s32[], f32[100]) tuple(j, m, y) }
outer_test { s = (s32[], s32[], f32[100]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant(3)  ROOT c = pred[] compare(i, end), direction=LT }
ENTRY e { x = f32[100] parameter(0)  zero = s32[] constant(0)
  begin = (s32[], s32[], f32[100]) tuple(zero, zero, x)
  ROOT outer = (s32[], s32[], f32[100]) while(begin), condition=outer_test, body=outer_body }
)";
}

// Checks the loops that observers see.
class LoopRecorder : public Observer {
 public:
  LoopRecorder(bool needs_inner_steps, int64_t inner)
      : needs_inner_steps_(needs_inner_steps), inner_(inner) {}
  bool needs_inner_steps() const override { return needs_inner_steps_; }
  absl::Status BeforeStep(const StepView& step) override {
    const std::vector<RunningLoop> loops = step.loops();
    for (size_t k = 0; k < loops.size(); ++k) {
      const bool is_inner = loops[k].instruction->name() == "inner";
      EXPECT_EQ(is_inner, k == 1);
      EXPECT_GE(loops[k].iteration, 0);
      EXPECT_LE(loops[k].iteration, is_inner ? inner_ : 3);
      int64_t& most = is_inner ? most_inner : most_outer;
      most = std::max(most, loops[k].iteration);
      trip_counts_are_known &= loops[k].trip_count == (is_inner ? inner_ : 3);
    }
    return absl::OkStatus();
  }
  int64_t most_inner = 0, most_outer = 0;
  bool trip_counts_are_known = true;

 private:
  const bool needs_inner_steps_;
  const int64_t inner_;
};

LoopRecorder Watch(const std::string& sorted, int64_t inner, bool inner_steps, Engine engine,
                   Device device = {}) {
  const CheckedModule module = Load(Nested(sorted, inner));
  LoopRecorder seen(inner_steps, inner);
  const EvaluateOptions options = {.observer = &seen};
  const absl::StatusOr<Literal> value =
      Execute(module, *MakeInputs(module.module(), InputFill::kUniform, 1), engine, options, device);
  EXPECT_TRUE(value.ok()) << value.status();
  return seen;
}

constexpr char kSort[] = "sort(x), dimensions={0}, to_apply=less";

TEST(Loops, BytecodeCountsIterations) {
  for (const std::string& sorted : {std::string(kSort), std::string("add(x, x)")}) {
    const LoopRecorder seen = Watch(sorted, 5000, false, Engine::kFast);
    EXPECT_EQ(seen.most_outer, 3);
    EXPECT_GT(seen.most_inner, 3000) << "it is looked at every 1024 iterations";
    EXPECT_TRUE(seen.trip_counts_are_known);
  }
}

TEST(Loops, StepsCountIterations) {
  const LoopRecorder fast = Watch(kSort, 20, true, Engine::kFast);
  EXPECT_EQ(fast.most_outer, 3);
  EXPECT_EQ(fast.most_inner, 20);
  EXPECT_TRUE(fast.trip_counts_are_known);
  const LoopRecorder reference = Watch(kSort, 20, true, Engine::kReference);
  EXPECT_EQ(reference.most_outer, 3);
  EXPECT_EQ(reference.most_inner, 20);
  const LoopRecorder gpu = Watch(kSort, 20, true, Engine::kFast, {.kind = Device::Kind::kEmulatedGpu});
  EXPECT_EQ(gpu.most_outer, 3);
  EXPECT_TRUE(gpu.trip_counts_are_known);
}

// Collects the instructions of the loops.
class LoopNames : public Observer {
 public:
  explicit LoopNames(bool needs_inner_steps) : needs_inner_steps_(needs_inner_steps) {}
  bool needs_inner_steps() const override { return needs_inner_steps_; }
  absl::Status BeforeStep(const StepView& step) override {
    for (const RunningLoop& loop : step.loops()) {
      names.emplace(loop.instruction->name());
      trip_counts.insert(loop.trip_count);
    }
    return absl::OkStatus();
  }
  std::set<std::string, std::less<>> names;
  std::set<std::optional<int64_t>> trip_counts;

 private:
  const bool needs_inner_steps_;
};

// The planner replaces the reduction, whose elements must be combined in order, by a loop.
TEST(Loops, HaveTheNameOfTheInstructionThatTheyReplace) {
  const CheckedModule module = Load(R"(
c { a = f32[] parameter(0)  b = f32[] parameter(1)  t = f32[] multiply(a, a)  ROOT r = f32[] subtract(t, b) }
ENTRY e { x = f32[5000] parameter(0)  z = f32[] constant(0)
  ROOT red = f32[] reduce(x, z), dimensions={0}, to_apply=c })");
  for (const bool inner_steps : {false, true}) {
    LoopNames seen(inner_steps);
    const EvaluateOptions options = {.observer = &seen};
    EXPECT_TRUE(
        Execute(module, *MakeInputs(module.module(), InputFill::kUniform, 1), Engine::kFast, options).ok());
    EXPECT_EQ(seen.names, (std::set<std::string, std::less<>>{"red"}));
    EXPECT_EQ(seen.trip_counts, (std::set<std::optional<int64_t>>{5000}));
  }
}

// Counts the steps that it sees.
class Sampler : public Observer {
 public:
  explicit Sampler(bool needs_all_steps) : needs_all_steps_(needs_all_steps) {}
  bool needs_all_steps() const override { return needs_all_steps_; }
  absl::Status BeforeStep(const StepView&) override {
    ++count;
    return absl::OkStatus();
  }
  int64_t count = 0;

 private:
  const bool needs_all_steps_;
};

TEST(Loops, GpusRunLoopsWithoutTheHostIfAnObserverOnlySamples) {
  const CheckedModule module = Load(Nested(kSort, 500));
  for (const bool needs_all_steps : {true, false}) {
    Sampler seen(needs_all_steps);
    const EvaluateOptions options = {.observer = &seen};
    const absl::StatusOr<Literal> value =
        Execute(module, *MakeInputs(module.module(), InputFill::kUniform, 1), Engine::kFast, options,
                {.kind = Device::Kind::kEmulatedGpu});
    EXPECT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(seen.count > 1000, needs_all_steps) << seen.count;
  }
}

// Returns what is written to a terminal during `work`.
template <class Work>
std::string Shown(Work work) {
  std::FILE* terminal = std::tmpfile();
  EXPECT_NE(terminal, nullptr);
  {
    Progress progress(terminal, std::chrono::milliseconds(0), std::chrono::milliseconds(1));
    work(progress);
  }
  std::rewind(terminal);
  std::string text(1 << 20, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), terminal));
  std::fclose(terminal);
  return text;
}

// Runs for the given time and returns the progress line.
std::string ShownOf(const std::string& text, Engine engine, double seconds) {
  return Shown([&](Progress& progress) {
    const CheckedModule module = Load(text);
    const EvaluateOptions options = {.max_seconds = seconds, .observer = &progress};
    EXPECT_TRUE(absl::IsDeadlineExceeded(
        Execute(module, *MakeInputs(module.module(), InputFill::kZeros, 1), engine, options).status()));
  });
}

// An endless loop; the trip count is a claim in XLA's format.
constexpr char kEndless[] = R"(
body { p = s32[] parameter(0)  three = s32[] constant(3)  ROOT n = s32[] multiply(p, three) }
test { p = s32[] parameter(0)  limit = s32[] constant(7)  ROOT l = pred[] compare(p, limit), direction=LT }
ENTRY e { p = s32[] parameter(0)  ROOT w = s32[] while(p), condition=test, body=body CONFIG }
)";

TEST(Progress, ShowsTheIterationsOfLoops) {
  std::string text = kEndless;
  text.replace(text.find("CONFIG"), 6, "");
  for (const Engine engine : {Engine::kFast, Engine::kReference}) {
    const std::string shown = ShownOf(text, engine, 0.2);
    EXPECT_NE(shown.find(", w iteration "), std::string::npos) << shown;
    EXPECT_EQ(shown.find(" of 9000, at "), std::string::npos);
    EXPECT_TRUE(shown.ends_with("\r\033[K")) << "the line is erased";
  }
  text = kEndless;
  text.replace(text.find("CONFIG"), 6, R"(, backend_config={"known_trip_count":{"n":"9000"}})");
  const std::string shown = ShownOf(text, Engine::kFast, 0.2);
  EXPECT_NE(shown.find(" of 9000, at w (while) 2 of 2 in e"), std::string::npos) << shown;
}

TEST(Progress, ShowsActivitiesOfTheThread) {
  const std::string shown = Shown([](Progress&) {
    for (int k = 0; k < 100; ++k) {
      Report({.what = "reading x.npy", .done = 3, .total = 4, .unit = "bytes"});
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_NE(shown.find(" s, reading x.npy: 75 % of 4 bytes"), std::string::npos) << shown;
}

// Two equal loops of ten iterations; the second one is in a computation that the entry calls.
constexpr char kTwoLoops[] = R"(
body { p = (s32[], f32[1000]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  x = f32[1000] get-tuple-element(p), index=1  one = s32[] constant(1)  n = s32[] add(i, one)
  y = f32[1000] sine(x)  ROOT t = (s32[], f32[1000]) tuple(n, y) }
test { p = (s32[], f32[1000]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  limit = s32[] constant(10)  ROOT c = pred[] compare(i, limit), direction=LT }
called { x = f32[1000] parameter(0)  zero = s32[] constant(0)  begin = (s32[], f32[1000]) tuple(zero, x)
  second = (s32[], f32[1000]) while(begin), condition=test, body=body
  ROOT r = f32[1000] get-tuple-element(second), index=1 }
ENTRY e { x = f32[1000] parameter(0)  zero = s32[] constant(0)  begin = (s32[], f32[1000]) tuple(zero, x)
  first = (s32[], f32[1000]) while(begin), condition=test, body=body
  y = f32[1000] get-tuple-element(first), index=1  ROOT z = f32[1000] call(y), to_apply=called }
)";

const Instruction& Named(const CheckedModule& module, const std::string& name) {
  for (const Computation* computation : module.module().computations()) {
    for (const Instruction* i : computation->instructions()) {
      if (i->name() == name) return *i;
    }
  }
  ADD_FAILURE() << name;
  return *module.module().entry()->root();
}

TEST(WorkEstimate, CountsLoopsAndCalls) {
  const CheckedModule module = Load(kTwoLoops);
  const Instruction &first = Named(module, "first"), &second = Named(module, "second"),
                    &call = Named(module, "z");
  const auto no_cost = [] { return Cost(); };
  WorkEstimate work;
  EXPECT_EQ(work.DonePart(), std::nullopt) << "no step has begun";
  work.Begin(first, 0);
  EXPECT_NEAR(*work.DonePart(), 0, 0.01);
  const RunningLoop in_first = {.instruction = &first, .iteration = 6};
  work.SetLoops({&in_first, 1});
  EXPECT_NEAR(*work.DonePart(), 0.25, 0.01);
  work.End(first, 0, no_cost);
  EXPECT_NEAR(*work.DonePart(), 0.5, 0.01);
  work.Begin(call, 0);
  work.Begin(second, 1);
  const RunningLoop in_second = {.instruction = &second, .iteration = 6};
  work.SetLoops({&in_second, 1});
  EXPECT_NEAR(*work.DonePart(), 0.75, 0.01);
  work.End(second, 1, no_cost);
  EXPECT_NEAR(*work.DonePart(), 1, 0.01);
  work.End(call, 0, no_cost);
  EXPECT_NEAR(*work.DonePart(), 1, 0.01) << "the loop is counted once";
}

TEST(WorkEstimate, NoticesLoopsThatEndUnseen) {
  const CheckedModule module = Load(kTwoLoops);
  WorkEstimate work;
  work.Begin(Named(module, "first"), 0);
  const RunningLoop in_first = {.instruction = &Named(module, "first"), .iteration = 3};
  const RunningLoop in_second = {.instruction = &Named(module, "second"), .iteration = 1};
  work.SetLoops({&in_first, 1});
  work.SetLoops({&in_second, 1});
  EXPECT_NEAR(*work.DonePart(), 0.5, 0.01);
}

TEST(WorkEstimate, NestedLoopsCountWithinTheirIteration) {
  const CheckedModule module = Load(Nested("add(x, x)", 1000));
  const Instruction &outer = Named(module, "outer"), &inner = Named(module, "inner");
  WorkEstimate work;
  work.Begin(outer, 0);
  const RunningLoop loops[] = {{.instruction = &outer, .iteration = 2},
                               {.instruction = &inner, .iteration = 501}};
  work.SetLoops(loops);
  EXPECT_NEAR(*work.DonePart(), 0.5, 0.01);
}

TEST(WorkEstimate, IsUnknownWithoutTripCounts) {
  std::string text = kEndless;
  text.replace(text.find("CONFIG"), 6, "");
  const CheckedModule module = Load(text);
  const Instruction& loop = Named(module, "w");
  WorkEstimate work;
  work.Begin(loop, 0);
  EXPECT_EQ(work.DonePart(), std::nullopt);
  // An engine may know it.
  const RunningLoop running = {.instruction = &loop, .iteration = 26, .trip_count = 100};
  work.SetLoops({&running, 1});
  EXPECT_NEAR(*work.DonePart(), 0.25, 0.01);
}

TEST(RemainingTime, FollowsTheSpeed) {
  using std::chrono::seconds;
  const RemainingTime::Clock::time_point start;
  RemainingTime left;
  EXPECT_EQ(left.LeftText(start), "");
  left.Update(0.2, start);
  EXPECT_EQ(left.PercentText(), "20 %");
  EXPECT_EQ(left.LeftText(start), "") << "the speed is not known";
  left.Update(0.3, start + seconds(10));
  EXPECT_EQ(left.LeftText(start + seconds(10)), ", 1 min 10 s left");
  left.Update(0.6, start + seconds(20));
  EXPECT_EQ(left.LeftText(start + seconds(20)), ", 20 s left");
  // A loop of unknown trip count has no part in the speed.
  left.Update(std::nullopt, start + seconds(30));
  EXPECT_EQ(left.LeftText(start + seconds(30)), "");
  left.Update(0.8, start + seconds(1000));
  left.Update(0.9, start + seconds(1005));
  EXPECT_EQ(left.LeftText(start + seconds(1005)), ", 5 s left");
  left.Start(0, start);
  left.Update(0.01, start + seconds(100));
  EXPECT_EQ(left.LeftText(start + seconds(100)), ", 2 h 45 min left");
}

// Records the reports.
class Listener : public ActivityListener {
 public:
  void OnActivity(const Activity& activity) override {
    if (!activity.what.empty()) last_ = activity.what;
    seen.push_back(last_ + " " + std::to_string(activity.done) + "/" + std::to_string(activity.total) +
                   std::string(activity.unit));
  }
  bool Has(const std::string& text) const { return std::find(seen.begin(), seen.end(), text) != seen.end(); }
  std::vector<std::string> seen;

 private:
  std::string last_;
};

TEST(Activities, RandomArgumentsAndFilesAreReported) {
  const CheckedModule module = Load(
      "ENTRY e { a = s8[] parameter(0)  b = u8[3000000] parameter(1)  ROOT t = (s8[], u8[3000000]) tuple(a, "
      "b) }");
  Listener listener;
  const ActivityScope scope(&listener);
  const std::vector<Literal> arguments = *MakeInputs(module.module(), InputFill::kUniform, 1);
  EXPECT_TRUE(listener.Has("making argument 1 of 2 0/0"));
  EXPECT_TRUE(listener.Has("making argument 2 of 2 1048576/3000000elements"));
  EXPECT_TRUE(listener.Has("making argument 2 of 2 2097152/3000000elements"));
  for (const std::string ending : {".npy", ".npz", ".safetensors", ".bin"}) {
    const std::string path = testing::TempDir() + "progress_test" + ending;
    ASSERT_TRUE(WriteValue(path, arguments[1]).ok());
    listener.seen.clear();
    ASSERT_TRUE(ReadValue(path, arguments[1].shape()).ok());
    ASSERT_FALSE(listener.seen.empty()) << ending;
    EXPECT_EQ(listener.seen[0].rfind("reading " + path, 0), 0u) << listener.seen[0];
    EXPECT_TRUE(listener.seen[0].ends_with("bytes")) << listener.seen[0];
    std::remove(path.c_str());
  }
}

}  // namespace
}  // namespace hlo::progress_test
