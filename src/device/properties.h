#pragma once
// Properties of a GPU, for the selection of kernels and for users.

#include <cstdint>
#include <string>

namespace hlo::device {

struct DeviceProperties {
  std::string name;
  int number = 0;               // Its index among the GPUs of the machine.
  int compute_capability = 75;  // 90 is 9.0.
  int multiprocessors = 1;
  int64_t shared_bytes_per_block = 48 << 10;  // The maximum that a thread block can request.
  int64_t memory_bytes = 0;
  bool limits_kernel_time = false;  // The driver ends kernels that run for seconds, because of a display.
  int driver = 0, runtime = 0;      // CUDA versions: 13000 is 13.0.
};

}  // namespace hlo::device
