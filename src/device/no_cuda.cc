// Implementation for builds without the CUDA toolkit.

#include "device/gpu.h"
#include "device/status.h"
#include "fmt/format.h"

namespace hlo::device {
namespace {

absl::Status NotBuilt() {
  return absl::UnimplementedError(
      "this build has no CUDA engine: configure it with -DHLO_RUN_CUDA=ON where CUDA's toolkit is installed");
}

}  // namespace

absl::Status CudaStatus(int cuda_error, std::string_view doing) {
  return absl::InternalError(fmt::format("{}: CUDA's error {}", doing, cuda_error));
}

absl::StatusOr<std::vector<DeviceProperties>> ListGpus() { return NotBuilt(); }
void PrepareGpu(int /*number*/) {}
absl::StatusOr<std::unique_ptr<Gpu>> OpenGpu(int /*number*/) { return NotBuilt(); }

}  // namespace hlo::device
