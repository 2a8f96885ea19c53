#pragma once
// Runs tests on the emulated GPU or, if HLO_TEST_ON_GPU is defined, on the first GPU.

#include <cstdio>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "device/gpu.h"
#include "gtest/gtest.h"
#include "hlo_run/execute.h"

namespace hlo {

#ifdef HLO_TEST_ON_GPU

inline constexpr bool kOnGpu = true;
inline std::vector<Device> TestDevices() { return {{Device::Kind::kGpu, 0}}; }

#else

inline constexpr bool kOnGpu = false;
// Several thread schedules.
inline std::vector<Device> TestDevices() {
  return {{Device::Kind::kEmulatedGpu, 0}, {Device::Kind::kEmulatedGpu, 1}, {Device::Kind::kEmulatedGpu, 2}};
}

#endif

inline std::unique_ptr<device::Gpu> OpenTestGpu(Device device) {
  if (!kOnGpu) return device::MakeEmulatedGpu(device.number);
  absl::StatusOr<std::unique_ptr<device::Gpu>> gpu = device::OpenGpu(device.number);
  EXPECT_TRUE(gpu.ok()) << gpu.status();
  return gpu.ok() ? *std::move(gpu) : nullptr;
}

// Forwards to a GPU, as a base class for tests that override some functions.
class ForwardingGpu : public device::Gpu {
 public:
  explicit ForwardingGpu(Device where) : gpu_(OpenTestGpu(where)) {}
  const device::DeviceProperties& properties() const override { return gpu_->properties(); }
  device::Stream stream() const override { return gpu_->stream(); }
  absl::Status MakeCurrent() override { return gpu_->MakeCurrent(); }
  absl::StatusOr<void*> Allocate(int64_t byte_count, std::string_view what) override {
    return gpu_->Allocate(byte_count, what);
  }
  void Free(void* memory) override { gpu_->Free(memory); }
  absl::Status ToDevice(void* to, const void* from, int64_t byte_count) override {
    return gpu_->ToDevice(to, from, byte_count);
  }
  absl::Status ToHost(void* to, const void* from, int64_t byte_count) override {
    return gpu_->ToHost(to, from, byte_count);
  }
  absl::Status Copy(void* to, const void* from, int64_t byte_count) override {
    return gpu_->Copy(to, from, byte_count);
  }
  absl::Status CopyRowsFrom(const Gpu& source, void* to, int64_t to_pitch, const void* from,
                            int64_t from_pitch, int64_t row_bytes, int64_t row_count) override {
    return gpu_->CopyRowsFrom(source, to, to_pitch, from, from_pitch, row_bytes, row_count);
  }
  absl::Status Synchronize() override { return gpu_->Synchronize(); }
  absl::StatusOr<std::unique_ptr<device::GpuGraph>> Capture(std::function<absl::Status()> work) override {
    return gpu_->Capture(std::move(work));
  }
  absl::StatusOr<std::unique_ptr<device::GpuGraph>> CaptureLoop(
      const bool* goes_on, std::function<absl::Status()> iteration) override {
    return gpu_->CaptureLoop(goes_on, std::move(iteration));
  }
  absl::Status CaptureBranch(const void* choice, bool is_pred,
                             absl::Span<const std::function<absl::Status()>> branches) override {
    return gpu_->CaptureBranch(choice, is_pred, branches);
  }

 private:
  std::unique_ptr<device::Gpu> gpu_;
};

// The body of main.
inline int RunGpuTests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (kOnGpu) {
    if (const auto gpus = device::ListGpus(); !gpus.ok()) {
      std::fprintf(stderr, "skipped: %s\n", gpus.status().ToString().c_str());
      return 77;  // CTest treats 77 as skipped.
    }
  }
  return RUN_ALL_TESTS();
}

}  // namespace hlo
