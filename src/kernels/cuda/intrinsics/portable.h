#pragma once
// Portability macros that let a kernel body compile for the device and for the host. A body is a template
//   template <class Env> static HLO_DEVICE void Run(Env& env, const Args& args);
// over an environment: DeviceEnv (env.h) or HostEnv (emulator.h). It uses no CUDA built-ins.

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"
#include "base/unroll.h"

#define HLO_DEVICE HLO_HOST_DEVICE
// Marks functions that are called from many places, or rarely, and must not be inlined.
#define HLO_DEVICE_CALLED HLO_HOST_DEVICE_CALLED

namespace hlo::cuda {

constexpr uint32_t kWarpSize = 32;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

// The configuration of a launch: grid, block size (one-dimensional, a multiple of 32), and dynamic shared
// memory.
struct LaunchShape {
  Dim3 grid;
  uint32_t threads = 256;
  size_t shared_bytes = 0;
};

}  // namespace hlo::cuda
