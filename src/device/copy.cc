#include "device/copy.h"

#include <cstring>

#include "device/status.h"

#ifdef HLO_RUN_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace hlo::device {

absl::Status CopyOnDevice(void* to, const void* from, int64_t byte_count, Stream stream) {
  const auto size = static_cast<size_t>(byte_count);
  if (to == from || size == 0) return absl::OkStatus();
  if (stream.emulated) {
    std::memcpy(to, from, size);
    return absl::OkStatus();
  }
#ifdef HLO_RUN_HAS_CUDA
  return CudaStatus(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, stream.handle),
                    "copying on the device");
#else
  return absl::UnimplementedError("this build has no CUDA engine");
#endif
}

absl::Status FillOnDevice(void* to, uint8_t value, int64_t byte_count, Stream stream) {
  const auto size = static_cast<size_t>(byte_count);
  if (size == 0) return absl::OkStatus();
  if (stream.emulated) {
    std::memset(to, value, size);
    return absl::OkStatus();
  }
#ifdef HLO_RUN_HAS_CUDA
  return CudaStatus(cudaMemsetAsync(to, value, size, stream.handle), "filling device memory");
#else
  return absl::UnimplementedError("this build has no CUDA engine");
#endif
}

}  // namespace hlo::device
