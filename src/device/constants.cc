#include "device/constants.h"

#include <mutex>
#include <utility>

#include "base/status.h"
#include "device/status.h"

#ifdef HLO_RUN_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace hlo::device {

struct Constants::State {
  std::vector<std::byte> bytes;
#ifdef HLO_RUN_HAS_CUDA
  std::mutex mutex;
  void* on_device = nullptr;
  ~State() {
    if (on_device != nullptr) cudaFree(on_device);
  }
#endif
};

Constants::Constants(std::vector<std::byte> bytes) : state_(std::make_shared<State>()) {
  state_->bytes = std::move(bytes);
}

absl::StatusOr<const void*> Constants::On(Stream stream) const {
  if (stream.emulated || state_->bytes.empty()) return state_->bytes.data();
#ifdef HLO_RUN_HAS_CUDA
  const std::lock_guard lock(state_->mutex);
  if (state_->on_device == nullptr) {
    void* memory = nullptr;
    HLO_RETURN_IF_ERROR(
        CudaStatus(cudaMalloc(&memory, state_->bytes.size()), "memory for a kernel's tables"));
    // Streams do not wait for copies outside of them, and kernels on other streams may read the tables next.
    cudaError_t error = cudaMemcpyAsync(memory, state_->bytes.data(), state_->bytes.size(),
                                        cudaMemcpyHostToDevice, stream.handle);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream.handle);
    if (error != cudaSuccess) cudaFree(memory);
    HLO_RETURN_IF_ERROR(CudaStatus(error, "a kernel's tables"));
    state_->on_device = memory;
  }
  return state_->on_device;
#else
  return absl::UnimplementedError("this build has no CUDA engine");
#endif
}

}  // namespace hlo::device
