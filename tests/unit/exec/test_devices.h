#pragma once
// The devices of tests of modules on GPUs.

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "device/gpu.h"
#include "gtest/gtest.h"
#include "hlo_run/execute.h"
#include "on_gpu.h"

namespace hlo {

// Returns the first GPU, or the emulated GPU with several thread schedules.
inline std::vector<Device> TestDevices() {
  if (test::OnGpu()) return {{Device::Kind::kGpu, 0}};
  return {{Device::Kind::kEmulatedGpu, 0}, {Device::Kind::kEmulatedGpu, 1}, {Device::Kind::kEmulatedGpu, 2}};
}

inline std::unique_ptr<device::Gpu> OpenTestGpu(Device device) {
  if (!test::OnGpu()) return device::MakeEmulatedGpu(device.number);
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

}  // namespace hlo
