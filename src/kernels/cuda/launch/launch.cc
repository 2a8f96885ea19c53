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

absl::Status CheckLaunch(const LaunchShape& shape, uint32_t max_threads) {
  constexpr uint32_t kMaxX = 0x7fffffffu, kMaxYZ = 65535;
  const Dim3& grid = shape.grid;
  const bool is_grid =
      grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= kMaxX && grid.y <= kMaxYZ && grid.z <= kMaxYZ;
  if (is_grid && shape.threads <= max_threads) return absl::OkStatus();
  return absl::InternalError(fmt::format("a launch of {}x{}x{} blocks of {} threads, of at most {}", grid.x,
                                         grid.y, grid.z, shape.threads, max_threads));
}

}  // namespace hlo::cuda
