#pragma once
// Tests of kernels run on the emulated GPU or, if the environment variable HLO_TEST_ON_GPU is set, on the
// first GPU.

#include <cstdlib>

namespace hlo::test {

inline bool OnGpu() {
  static const bool on_gpu = std::getenv("HLO_TEST_ON_GPU") != nullptr;
  return on_gpu;
}

}  // namespace hlo::test
