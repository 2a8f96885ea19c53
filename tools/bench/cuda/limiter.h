#pragma once
// Says what limits a kernel: its bytes and operations against the peaks of the GPU.

#include <cuda_runtime_api.h>

#include "device/properties.h"
#include "hlo_run/element_type.h"

namespace hlo::bench {

struct Peaks {
  double gigabytes = 0;  // Per second, read and written by a copy; measured.
  double teraflops = 0;  // Per second, of multiplications and additions; nominal. 0: not compared.
};

struct Limiter {
  const char* name;
  double share;  // The achieved part of the peak.
};

// Returns the resource of which the kernel uses the larger share. A kernel that uses little of both waits for
// latencies, launches or other instructions.
constexpr Limiter LimiterOf(double milliseconds, double bytes, double operations, const Peaks& peaks) {
  constexpr double kLittle = 0.4;
  const double memory = peaks.gigabytes > 0 ? bytes / milliseconds * 1e-6 / peaks.gigabytes : 0,
               compute = peaks.teraflops > 0 ? operations / milliseconds * 1e-9 / peaks.teraflops : 0;
  const double share = memory < compute ? compute : memory;
  return {share < kLittle ? "latency" : memory < compute ? "compute" : "memory", share};
}

// The operations per cycle and multiprocessor: fused multiply-add counts as two.
constexpr double OperationsPerCycle(int compute_capability, ElementType type) {
  const bool is_hopper = compute_capability >= 90, is_ampere = compute_capability == 80;
  switch (type) {
    case ElementType::kF64:
      return is_hopper ? 256 : is_ampere ? 128 : 4;
    case ElementType::kBF16:
    case ElementType::kF16:
      return is_hopper ? 4096 : is_ampere ? 2048 : 1024;
    case ElementType::kS8:
    case ElementType::kU8:
    case ElementType::kF8E4M3FN:
    case ElementType::kF8E5M2:
      return is_hopper ? 8192 : is_ampere ? 4096 : 2048;
    default:
      return is_ampere || compute_capability < 80 ? 128 : 256;
  }
}

// Returns the nominal rate of products of this type on the first GPU.
inline double TeraflopsOf(const device::DeviceProperties& device, ElementType type) {
  int kilohertz = 0;
  if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0) != cudaSuccess) return 0;
  return OperationsPerCycle(device.compute_capability, type) * device.multiprocessors * kilohertz * 1e-9;
}

}  // namespace hlo::bench
