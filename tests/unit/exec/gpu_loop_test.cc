// Tests loops on the GPU of which each step is a launch: results and number of host synchronisations.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "exec/gpu_executor.h"
#include "gtest/gtest.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"
#include "on_gpu.h"
#include "plan/make_plan.h"
#include "test_devices.h"

namespace hlo::exec::gpu_loop_test {
namespace {

// Counts copies to the host and on the device, and captured graphs.
class CountingGpu : public ForwardingGpu {
 public:
  struct Counts {
    int to_host = 0, copies = 0, recorded = 0, started = 0, branches = 0, graphs = 0;
  };
  CountingGpu(Device where, Counts* counts) : ForwardingGpu(where), counts_(counts) {}

  absl::Status ToHost(void* to, const void* from, int64_t byte_count) override {
    ++counts_->to_host;
    return ForwardingGpu::ToHost(to, from, byte_count);
  }
  absl::Status Copy(void* to, const void* from, int64_t byte_count) override {
    ++counts_->copies;
    return ForwardingGpu::Copy(to, from, byte_count);
  }
  absl::StatusOr<std::unique_ptr<device::GpuGraph>> Capture(std::function<absl::Status()> work) override {
    ++counts_->graphs;
    return ForwardingGpu::Capture(std::move(work));
  }
  absl::StatusOr<std::unique_ptr<device::GpuGraph>> CaptureLoop(
      const bool* goes_on, std::function<absl::Status()> iteration) override {
    ++counts_->recorded;
    return ForwardingGpu::CaptureLoop(goes_on, [this, iteration = std::move(iteration)] {
      ++counts_->started;
      return iteration();
    });
  }
  absl::Status CaptureBranch(const void* choice, bool is_pred,
                             absl::Span<const std::function<absl::Status()>> branches) override {
    ++counts_->branches;
    return ForwardingGpu::CaptureBranch(choice, is_pred, branches);
  }

 private:
  Counts* counts_;
};

class GpuLoop : public testing::TestWithParam<Device> {
 protected:
  void Load(const std::string& text) {
    Diagnostics diagnostics;
    std::shared_ptr<Module> module = Parse(std::make_shared<SourceText>("t.hlo", text), diagnostics);
    ASSERT_NE(module, nullptr) << text;
    absl::StatusOr<CheckedModule> checked = Check(std::move(module), diagnostics);
    ASSERT_TRUE(checked.ok()) << checked.status();
    module_ = std::make_unique<CheckedModule>(*std::move(checked));
    absl::StatusOr<plan::Plan> plan = plan::MakePlan(*module_, nullptr, plan::Target::kGpu);
    ASSERT_TRUE(plan.ok()) << plan.status();
    plan_ = std::make_unique<plan::Plan>(*std::move(plan));
    gpu_ = std::make_shared<CountingGpu>(GetParam(), &counts_);
    executor_ = MakeExecutor();
  }
  std::unique_ptr<GpuExecutor> MakeExecutor() const {
    return std::make_unique<GpuExecutor>(
        *module_, *plan_, gpu_, plan::MakeGpuPlan(*plan_, gpu_->properties(), {.fuses_small_steps = false}),
        nullptr);
  }
  static Literal S32(std::vector<int32_t> values, std::vector<int64_t> dims = {}) {
    Literal literal = *Literal::Create(Shape::Array(ElementType::kS32, dims));
    std::copy(values.begin(), values.end(), literal.mutable_span<int32_t>().begin());
    return literal;
  }
  std::vector<int32_t> Run(std::vector<Literal> arguments, const EvaluateOptions& options = {}) {
    counts_ = {};
    const absl::StatusOr<Literal> result = executor_->Run(arguments, options, {});
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return {};
    const absl::Span<const int32_t> values = result->span<int32_t>();
    return {values.begin(), values.end()};
  }

  CountingGpu::Counts counts_;
  std::unique_ptr<CheckedModule> module_;
  std::unique_ptr<plan::Plan> plan_;
  std::shared_ptr<CountingGpu> gpu_;
  std::unique_ptr<GpuExecutor> executor_;
};

// A loop over (s32 counter, s32[3] value) with an optional limit.
std::string Doubling(const std::string& limit) {
  return R"(
cond { s = (s32[], s32[3], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=2
  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], s32[3], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = s32[3] get-tuple-element(s), index=1
  n = s32[] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  w = s32[3] add(v, v)
  ROOT r = (s32[], s32[3], s32[]) tuple(j, w, n) }
ENTRY e {
  v = s32[3] parameter(0)
  p = s32[] parameter(1)
  zero = s32[] constant(0)
  n = s32[] )" +
         limit + R"(
  s = (s32[], s32[3], s32[]) tuple(zero, v, n)
  w = (s32[], s32[3], s32[]) while(s), condition=cond, body=body
  ROOT r = s32[3] get-tuple-element(w), index=1
})";
}

// Four dots in sequence.
constexpr char kDots[] = R"(
ENTRY e {
  x = s32[2,2] parameter(0)
  y = s32[2,2] parameter(1)
  a = s32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = s32[2,2] dot(a, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = s32[2,2] dot(b, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = s32[2,2] dot(c, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";

TEST_P(GpuLoop, PlansAreCapturedInTheSecondRun) {
  Load(kDots);
  const Literal y = S32({2, 0, 0, 1}, {2, 2});
  EXPECT_EQ(Run({S32({1, 0, 0, 1}, {2, 2}), y}), (std::vector<int32_t>{8, 0, 0, 1}));
  EXPECT_EQ(counts_.graphs, 0);
  EXPECT_EQ(Run({S32({1, 1, 0, 1}, {2, 2}), y}), (std::vector<int32_t>{8, 13, 0, 1}));
  EXPECT_EQ(counts_.graphs, 1);
  EXPECT_EQ(Run({S32({0, 1, 1, 0}, {2, 2}), y}), (std::vector<int32_t>{0, 2, 4, 0}));
  EXPECT_EQ(counts_.graphs, 0);
  // Limits need the host between steps.
  EvaluateOptions limited;
  limited.max_steps = 100;
  EXPECT_EQ(Run({S32({1, 0, 0, 1}, {2, 2}), y}, limited), (std::vector<int32_t>{8, 0, 0, 1}));
  EXPECT_EQ(counts_.graphs, 0);
}

// Executables that were made on one thread share a GPU, also when they run on others: a graph must not
// capture the copies of another run.
TEST_P(GpuLoop, ExecutorsOfOneGpuRunOnSeveralThreads) {
  Load(kDots);
  const std::unique_ptr<GpuExecutor> other = MakeExecutor();
  std::vector<std::thread> threads;
  for (GpuExecutor* executor : {executor_.get(), other.get()}) {
    threads.emplace_back([executor] {
      const std::vector<Literal> arguments = {S32({1, 1, 0, 1}, {2, 2}), S32({2, 0, 0, 1}, {2, 2})};
      for (int run = 0; run < 50; ++run) {
        const absl::StatusOr<Literal> result = executor->Run(arguments, {}, {});
        ASSERT_TRUE(result.ok()) << result.status();
        EXPECT_EQ(result->span<int32_t>()[1], 13);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(GpuLoop, RunsThatCanBeCancelledUseCapturedPlans) {
  Load(kDots);
  std::atomic<bool> cancel = false;
  EvaluateOptions options;
  options.cancel = &cancel;
  const Deadline deadline(0, &cancel);
  const Literal x = S32({1, 0, 0, 1}, {2, 2}), y = S32({2, 0, 0, 1}, {2, 2});
  Run({x, y}, options);
  EXPECT_EQ(Run({x, y}, options), (std::vector<int32_t>{8, 0, 0, 1}));
  EXPECT_EQ(counts_.graphs, 1);
  cancel = true;
  EXPECT_TRUE(absl::IsCancelled(executor_->Run({x, y}, options, {}).status()));
}

TEST_P(GpuLoop, ConstantBoundsNeedNoHostSynchronization) {
  Load(Doubling("constant(5)"));
  EXPECT_EQ(Run({S32({1, 2, -3}, {3}), S32({0})}), (std::vector<int32_t>{32, 64, -96}));
  EXPECT_EQ(counts_.to_host, 1);  // Copies the result only.
  EXPECT_EQ(counts_.recorded, 0);
}

TEST_P(GpuLoop, AComputedLimitIsReadOnce) {
  Load(Doubling("add(p, p)"));
  EXPECT_EQ(Run({S32({1, 2, -3}, {3}), S32({2})}), (std::vector<int32_t>{16, 32, -48}));
  EXPECT_EQ(counts_.to_host, 2);  // Copies the limit and the result.
  EXPECT_EQ(Run({S32({1, 2, -3}, {3}), S32({-4})}), (std::vector<int32_t>{1, 2, -3}));
}

TEST_P(GpuLoop, StepLimitsSynchronizeInEveryIteration) {
  Load(Doubling("constant(5)"));
  EXPECT_EQ(Run({S32({1, 2, -3}, {3}), S32({0})}, {.max_steps = 1000}), (std::vector<int32_t>{32, 64, -96}));
  EXPECT_EQ(counts_.to_host, 7);
}

// Collatz iterations until the number is 1; the two arrays are swapped in each iteration. 27 takes 111.
constexpr char kCollatz[] = R"(
cond { s = (s32[2], s32[2], s32[]) parameter(0)
  v = s32[2] get-tuple-element(s), index=0
  first = s32[1] slice(v), slice={[0:1]}
  x = s32[] reshape(first)
  one = s32[] constant(1)
  ROOT r = pred[] compare(x, one), direction=NE }
body { s = (s32[2], s32[2], s32[]) parameter(0)
  v = s32[2] get-tuple-element(s), index=0
  before = s32[2] get-tuple-element(s), index=1
  count = s32[] get-tuple-element(s), index=2
  one = s32[] constant(1)
  ones = s32[2] broadcast(one), dimensions={}
  half = s32[2] shift-right-logical(v, ones)
  odd = s32[2] and(v, ones)
  zero = s32[] constant(0)
  zeros = s32[2] broadcast(zero), dimensions={}
  is_even = pred[2] compare(odd, zeros), direction=EQ
  three = s32[] constant(3)
  threes = s32[2] broadcast(three), dimensions={}
  tripled = s32[2] multiply(v, threes)
  more = s32[2] add(tripled, ones)
  next = s32[2] select(is_even, half, more)
  counted = s32[] add(count, one)
  ROOT r = (s32[2], s32[2], s32[]) tuple(next, v, counted) }
ENTRY e {
  v = s32[2] parameter(0)
  zero = s32[] constant(0)
  zeros = s32[2] broadcast(zero), dimensions={}
  s = (s32[2], s32[2], s32[]) tuple(v, zeros, zero)
  w = (s32[2], s32[2], s32[]) while(s), condition=cond, body=body
  now = s32[2] get-tuple-element(w), index=0
  before = s32[2] get-tuple-element(w), index=1
  count = s32[] get-tuple-element(w), index=2
  counts = s32[1] reshape(count)
  ROOT r = s32[5] concatenate(now, before, counts), dimensions={0}
})";

TEST_P(GpuLoop, UnknownTripCountsAreCaptured) {
  Load(kCollatz);
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(Run({S32({27, 4}, {2})}), (std::vector<int32_t>{1, 4, 2, 1, 111}));
    EXPECT_EQ(counts_.to_host, 3);  // Two predicates and the result.
    EXPECT_EQ(counts_.recorded, run == 0 ? 1 : 0);
    EXPECT_EQ(counts_.started, test::OnGpu() ? (run == 0 ? 1 : 0) : 110);
    EXPECT_EQ(counts_.copies, 0);  // Moves of small states are kernels.
  }
  EXPECT_EQ(Run({S32({2, 1}, {2})}), (std::vector<int32_t>{1, 4, 2, 1, 1}));
  EXPECT_EQ(Run({S32({1, 7}, {2})}), (std::vector<int32_t>{1, 7, 0, 0, 0}));
  // Deadlines require the host.
  EXPECT_EQ(Run({S32({27, 4}, {2})}, {.max_seconds = 1e6}), (std::vector<int32_t>{1, 4, 2, 1, 111}));
  EXPECT_EQ(counts_.started, 0);
}

// Sums 1 + ... + 4 in a loop with constant bounds until the total reaches 45.
TEST_P(GpuLoop, ContainsACountedLoop) {
  Load(R"(
inner_cond { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT r = pred[] compare(i, n), direction=LT }
inner_body { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  t = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  u = s32[] add(t, i)
  ROOT r = (s32[], s32[]) tuple(j, u) }
cond { t = s32[] parameter(0)
  n = s32[] constant(45)
  ROOT r = pred[] compare(t, n), direction=LT }
body { t = s32[] parameter(0)
  one = s32[] constant(1)
  s = (s32[], s32[]) tuple(one, t)
  w = (s32[], s32[]) while(s), condition=inner_cond, body=inner_body
  ROOT u = s32[] get-tuple-element(w), index=1 }
ENTRY e { t = s32[] parameter(0)
  ROOT w = s32[] while(t), condition=cond, body=body })");
  EXPECT_EQ(Run({S32({3})}), (std::vector<int32_t>{53}));
  EXPECT_EQ(counts_.to_host, 3);
  EXPECT_EQ(counts_.recorded, 1);
}

// Doubles numbers below 10 and increments others.
constexpr char kSteps[] = R"(
twice { x = s32[] parameter(0)
  ROOT r = s32[] add(x, x) }
next { x = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT r = s32[] add(x, one) }
cond { t = s32[] parameter(0)
  n = s32[] constant(50)
  ROOT r = pred[] compare(t, n), direction=LT }
body { t = s32[] parameter(0)
  n = s32[] constant(10)
  p = pred[] compare(t, n), direction=LT
  ROOT r = s32[] conditional(p, t, t), true_computation=twice, false_computation=next }
ENTRY e { t = s32[] parameter(0)
  ROOT w = s32[] while(t), condition=cond, body=body })";

TEST_P(GpuLoop, BranchesSynchronizeUntilAllWereTaken) {
  Load(kSteps);
  EXPECT_EQ(Run({S32({3})}), (std::vector<int32_t>{50}));
  // Predicate and branch index for 3, 6 and 12; the predicate of 13; the result.
  EXPECT_EQ(counts_.to_host, 8);
  EXPECT_EQ(counts_.recorded, 1);
  EXPECT_EQ(counts_.branches, test::OnGpu() ? 1 : 37);
  EXPECT_EQ(Run({S32({3})}), (std::vector<int32_t>{50}));
  EXPECT_EQ(counts_.to_host, 4);
  EXPECT_EQ(counts_.recorded, 0);
  EXPECT_EQ(Run({S32({3})}, {.max_steps = 1000}), (std::vector<int32_t>{50}));
  EXPECT_EQ(counts_.branches, 0);
}

// Selects one of three steps by the number's remainder, which is negative at first; nested branches.
TEST_P(GpuLoop, CountedWithBranchesInBranches) {
  Load(R"(
id { x = s32[] parameter(0)
  ROOT r = s32[] copy(x) }
one_more { x = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT r = s32[] add(x, one) }
two_more { x = s32[] parameter(0)
  two = s32[] constant(2)
  five = s32[] constant(5)
  far = pred[] compare(x, five), direction=GT
  y = s32[] add(x, two)
  ROOT r = s32[] conditional(far, y, y), true_computation=one_more, false_computation=id }
cond { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(12)
  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  t = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  three = s32[] constant(3)
  j = s32[] add(i, one)
  choice = s32[] remainder(t, three)
  u = s32[] conditional(choice, t, t, t), branch_computations={two_more, one_more, two_more}
  ROOT r = (s32[], s32[]) tuple(j, u) }
ENTRY e { t = s32[] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], s32[]) tuple(zero, t)
  w = (s32[], s32[]) while(s), condition=cond, body=body
  ROOT r = s32[] get-tuple-element(w), index=1 })");
  const auto want = [](int32_t t) {
    for (int i = 0; i < 12; ++i) t = t % 3 == 1 ? t + 1 : t > 5 ? t + 3 : t + 2;
    return std::vector<int32_t>{t};
  };
  for (const int32_t t : {-4, -4, 0, 1}) EXPECT_EQ(Run({S32({t})}), want(t)) << t;
  EXPECT_EQ(counts_.recorded, 0);
  // The first iteration takes the last one of all branches. The others are captured: a choice of three steps,
  // two of which hold another one. The emulator repeats the calls in every iteration.
  EXPECT_EQ(Run({S32({30})}), want(30));
  EXPECT_EQ(counts_.recorded, 1);
  EXPECT_EQ(counts_.branches, test::OnGpu() ? 3 : 22);
  EXPECT_EQ(Run({S32({32})}), want(32));
  EXPECT_EQ(counts_.recorded, 0);
  EXPECT_EQ(counts_.to_host, 3);  // Two choices of the first iteration and the result.
}

INSTANTIATE_TEST_SUITE_P(Devices, GpuLoop, testing::ValuesIn(TestDevices()));

}  // namespace
}  // namespace hlo::exec::gpu_loop_test
