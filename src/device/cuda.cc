#include <cuda_runtime_api.h>

#include "device/status.h"
#include "fmt/format.h"

namespace hlo::device {

absl::Status CudaStatus(int cuda_error, std::string_view doing) {
  const auto error = static_cast<cudaError_t>(cuda_error);
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string text =
      fmt::format("{}: {}: {}", doing, cudaGetErrorName(error), cudaGetErrorString(error));
  switch (error) {
    case cudaErrorMemoryAllocation:
      return absl::ResourceExhaustedError(text);
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
      return absl::UnimplementedError(text);
    default:
      return absl::InternalError(text);
  }
}

}  // namespace hlo::device
