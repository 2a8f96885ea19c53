// Tests the errors of a failing GPU: status code and instruction.

#include <memory>
#include <string>

#include "as_reference.h"
#include "base/status.h"
#include "device/status.h"
#include "exec/gpu_executor.h"
#include "gmock/gmock.h"
#include "hlo_run/observer.h"
#include "plan/make_plan.h"

namespace hlo::exec::gpu_errors_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

enum class Failing { kMemory, kCopyToHost, kWaiting };

class FaultyGpu : public ForwardingGpu {
 public:
  explicit FaultyGpu(Failing failing) : ForwardingGpu(TestDevices()[0]), failing_(failing) {}
  absl::StatusOr<void*> Allocate(int64_t byte_count, std::string_view what) override {
    if (failing_ == Failing::kMemory)
      return absl::ResourceExhaustedError("no memory for " + std::string(what));
    return ForwardingGpu::Allocate(byte_count, what);
  }
  absl::Status ToHost(void* to, const void* from, int64_t byte_count) override {
    HLO_RETURN_IF_ERROR(Fail(Failing::kCopyToHost));
    return ForwardingGpu::ToHost(to, from, byte_count);
  }
  absl::Status Synchronize() override {
    HLO_RETURN_IF_ERROR(Fail(Failing::kWaiting));
    return ForwardingGpu::Synchronize();
  }

 private:
  absl::Status Fail(Failing what) const {
    return failing_ == what ? absl::InternalError("the GPU is gone") : absl::OkStatus();
  }
  Failing failing_;
};

// The predicate of the loop depends on the data.
constexpr char kLoop[] = R"(
cond { v = f32[8] parameter(0)
  zero = f32[] constant(0)
  first = f32[1] slice(v), slice={[0:1]}
  x = f32[] reshape(first)
  ROOT more = pred[] compare(x, zero), direction=GT }
body { v = f32[8] parameter(0)
  ROOT w = f32[8] negate(v) }
ENTRY e {
  v = f32[8] parameter(0)
  ROOT turns = f32[8] while(v), condition=cond, body=body
}
)";
constexpr char kSine[] = "ENTRY e {\n  v = f32[8] parameter(0)\n  ROOT s = f32[8] sine(v)\n}\n";

absl::Status RunOn(Failing failing, const std::string& text, Observer* observer = nullptr) {
  const CheckedModule module = Load(text);
  const absl::StatusOr<plan::Plan> plan = plan::MakePlan(module, nullptr, plan::Target::kGpu);
  EXPECT_TRUE(plan.ok()) << plan.status();
  const auto gpu = std::make_shared<FaultyGpu>(failing);
  GpuExecutor executor(module, *plan, gpu,
                       plan::MakeGpuPlan(*plan, gpu->properties(), {.fuses_small_steps = false}), nullptr);
  EvaluateOptions options;
  options.observer = observer;
  return executor.Run({Values(ElementType::kF32, {8}, 1, false)}, options, {}).status();
}

TEST(GpuErrors, ErrorsInALoopNameTheLoop) {
  const absl::Status status = RunOn(Failing::kCopyToHost, kLoop);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              StartsWith("t.hlo:11:23: 'turns' (f32[8] while): the GPU is gone"));
}

TEST(GpuErrors, ErrorsOfAnObservedStepNameTheStep) {
  Observer watching;
  EXPECT_THAT(std::string(RunOn(Failing::kWaiting, kSine, &watching).message()),
              StartsWith("t.hlo:3:19: 's' (f32[8] sine): the GPU is gone"));
}

// The message names the innermost step.
TEST(GpuErrors, ErrorsOfAnObservedStepInALoopNameTheStep) {
  Observer watching;
  const std::string message(RunOn(Failing::kWaiting, kLoop, &watching).message());
  EXPECT_THAT(message, HasSubstr("'more' (pred[] compare): the GPU is gone"));
  EXPECT_EQ(message.find("while"), std::string::npos) << message;
}

TEST(GpuErrors, OutOfMemoryNamesTheAllocation) {
  const absl::Status status = RunOn(Failing::kMemory, kSine);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "no memory for the buffers of the plan");
}

TEST(GpuErrors, HaveTheStatusCodesOfTheirKinds) {
#ifdef HLO_RUN_HAS_CUDA
  constexpr int kMemoryAllocation = 2, kNoDevice = 100, kIllegalAddress = 700, kInvalidValue = 1;
  EXPECT_TRUE(device::CudaStatus(0, "x").ok());
  const absl::Status memory = device::CudaStatus(kMemoryAllocation, "taking 5 bytes");
  EXPECT_EQ(memory.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(memory.message()), HasSubstr("taking 5 bytes: cudaErrorMemoryAllocation"));
  EXPECT_EQ(device::CudaStatus(kNoDevice, "x").code(), absl::StatusCode::kUnimplemented);
  const absl::Status address = device::CudaStatus(kIllegalAddress, "x");
  EXPECT_EQ(address.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(address.message()), HasSubstr("hlo-run profile"));
  EXPECT_EQ(std::string(device::CudaStatus(kInvalidValue, "x").message()).find("profile"), std::string::npos);
#else
  EXPECT_EQ(device::CudaStatus(2, "x").code(), absl::StatusCode::kInternal);
#endif
}

}  // namespace
}  // namespace hlo::exec::gpu_errors_test
