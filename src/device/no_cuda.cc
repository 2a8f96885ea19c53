// What a build without CUDA's toolkit says of GPUs.

#include "device/status.h"
#include "fmt/format.h"

namespace hlo::device {

absl::Status CudaStatus(int cuda_error, std::string_view doing) {
  return absl::InternalError(fmt::format("{}: CUDA's error {}", doing, cuda_error));
}

}  // namespace hlo::device
