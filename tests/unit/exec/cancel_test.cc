// Tests cancellation of runs: before they start, and from another thread.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "hlo_run/execute.h"
#include "hlo_run/parse.h"

namespace hlo::cancel_test {
namespace {

// Counts up to its argument, with one dot per iteration.
constexpr std::string_view kLoop = R"(
body {
  s = (s32[], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8,8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (s32[], f32[8,8]) tuple(next, y)
}
condition {
  s = (s32[], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant(2000000000)
  ROOT c = pred[] compare(i, end), direction=LT
}
ENTRY e {
  s = (s32[], f32[8,8]) parameter(0)
  ROOT w = (s32[], f32[8,8]) while(s), condition=condition, body=body
})";

absl::Status StatusOf(Engine engine, const std::atomic<bool>& cancel) {
  Diagnostics diagnostics;
  const std::shared_ptr<const Module> module =
      Parse(std::make_shared<SourceText>("test", std::string(kLoop)), diagnostics);
  const Literal state = *Literal::CreateZeros(module->entry()->parameter(0)->shape());
  const CheckedModule checked = *Check(module, diagnostics);
  return Execute(checked, {state}, engine, {.max_seconds = 60, .cancel = &cancel}).status();
}

class Cancel : public testing::TestWithParam<Engine> {};

TEST_P(Cancel, ACancelFlagEndsTheRunAtOnce) {
  const std::atomic<bool> cancel = true;
  EXPECT_EQ(StatusOf(GetParam(), cancel).code(), absl::StatusCode::kCancelled);
}

TEST_P(Cancel, AnotherThreadEndsTheRun) {
  std::atomic<bool> cancel = false;
  std::thread canceller([&cancel] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancel = true;
  });
  EXPECT_EQ(StatusOf(GetParam(), cancel).code(), absl::StatusCode::kCancelled);
  canceller.join();
}

INSTANTIATE_TEST_SUITE_P(Engines, Cancel, testing::Values(Engine::kReference, Engine::kFast));

}  // namespace
}  // namespace hlo::cancel_test
