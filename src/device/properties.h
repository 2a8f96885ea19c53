#pragma once
// What kernels are chosen by.

#include <cstdint>
#include <string>

namespace hlo::device {

struct DeviceProperties {
  std::string name;
  int compute_capability = 75;  // 90: 9.0.
  int multiprocessors = 1;
  int64_t shared_bytes_per_block = 48 << 10;  // The most a block can ask for.
  int64_t memory_bytes = 0;
};

}  // namespace hlo::device
