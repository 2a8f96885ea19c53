#include "kernels/cuda/launch/launch.h"

#include "device/status.h"
#include "fmt/format.h"

namespace hlo::cuda {

absl::Status LaunchStatus(int cuda_error, const LaunchShape& shape) {
  if (cuda_error == 0) return absl::OkStatus();
  return device::CudaStatus(
      cuda_error, fmt::format("launching {}x{}x{} blocks of {} threads with {} bytes of shared memory",
                              shape.grid.x, shape.grid.y, shape.grid.z, shape.threads, shape.shared_bytes));
}

}  // namespace hlo::cuda
