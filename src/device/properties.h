#pragma once
// What kernels are chosen by, and what a user wants to know of a GPU.

#include <cstdint>
#include <string>

namespace hlo::device {

struct DeviceProperties {
  std::string name;
  int compute_capability = 75;  // 90: 9.0.
  int multiprocessors = 1;
  int64_t shared_bytes_per_block = 48 << 10;  // The most a block can ask for.
  int64_t memory_bytes = 0;
  int driver = 0, runtime = 0;  // CUDA's versions: 13000 is 13.0.
};

}  // namespace hlo::device
