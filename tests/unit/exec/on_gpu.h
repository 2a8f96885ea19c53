#pragma once
// Tests that run on the emulated GPU and, in the programs that HLO_TEST_ON_GPU is defined for, on the first
// GPU.

#include <cstdio>
#include <memory>
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
// Threads in several orders.
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

// What main does.
inline int RunGpuTests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (kOnGpu) {
    if (const auto gpus = device::ListGpus(); !gpus.ok()) {
      std::fprintf(stderr, "skipped: %s\n", gpus.status().ToString().c_str());
      return 77;  // What CTest takes for skipped.
    }
  }
  return RUN_ALL_TESTS();
}

}  // namespace hlo
