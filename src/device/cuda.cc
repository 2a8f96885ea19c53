// GPUs through the CUDA runtime.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/status.h"
#include "device/cuda_loop.h"
#include "device/gpu.h"
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
      return absl::UnimplementedError(
          fmt::format("no GPU: this machine has no NVIDIA driver, or an older one than CUDA {}.{} needs ({})",
                      CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, cudaGetErrorName(error)));
    case cudaErrorNoDevice:
      return absl::UnimplementedError(
          fmt::format("no GPU: the driver finds none ({})", cudaGetErrorName(error)));
    // These errors are sticky: kernels report them asynchronously, and every later call on the device fails.
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorMisalignedAddress:
      return absl::InternalError(
          text + ", in this step or one before it: hlo-run profile waits for each, and names it");
    default:
      return absl::InternalError(text);
  }
}

namespace {

absl::StatusOr<DeviceProperties> PropertiesOf(int number) {
  cudaDeviceProp found;
  HLO_RETURN_IF_ERROR(CudaStatus(cudaGetDeviceProperties(&found, number), "asking for a GPU's properties"));
  DeviceProperties properties;
  properties.name = found.name;
  properties.compute_capability = found.major * 10 + found.minor;
  properties.multiprocessors = found.multiProcessorCount;
  properties.shared_bytes_per_block = static_cast<int64_t>(found.sharedMemPerBlockOptin);
  properties.memory_bytes = static_cast<int64_t>(found.totalGlobalMem);
  HLO_RETURN_IF_ERROR(
      CudaStatus(cudaDriverGetVersion(&properties.driver), "asking for the driver's version"));
  HLO_RETURN_IF_ERROR(CudaStatus(cudaRuntimeGetVersion(&properties.runtime), "asking for CUDA's version"));
  return properties;
}

absl::StatusOr<int> CountGpus() {
  int count = 0;
  HLO_RETURN_IF_ERROR(CudaStatus(cudaGetDeviceCount(&count), "looking for GPUs"));
  return count;
}

class CudaGpu : public Gpu {
 public:
  static absl::StatusOr<std::unique_ptr<Gpu>> Open(int number) {
    auto gpu = std::make_unique<CudaGpu>();
    HLO_ASSIGN_OR_RETURN(gpu->properties_, PropertiesOf(number));
    HLO_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(number), fmt::format("choosing GPU {}", number)));
    HLO_RETURN_IF_ERROR(
        CudaStatus(cudaStreamCreateWithFlags(&gpu->stream_, cudaStreamNonBlocking), "making a stream"));
    // The memory pool keeps freed memory for the next run.
    cudaMemPool_t pool;
    HLO_RETURN_IF_ERROR(CudaStatus(cudaDeviceGetDefaultMemPool(&pool, number), "asking for the memory pool"));
    uint64_t all = ~uint64_t{0};
    HLO_RETURN_IF_ERROR(CudaStatus(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all),
                                   "setting up the memory pool"));
    for (Staging& staging : gpu->staging_) {
      HLO_RETURN_IF_ERROR(CudaStatus(cudaMallocHost(&staging.data, kStagingBytes), "taking pinned memory"));
      HLO_RETURN_IF_ERROR(
          CudaStatus(cudaEventCreateWithFlags(&staging.free, cudaEventDisableTiming), "making an event"));
    }
    return gpu;
  }
  ~CudaGpu() override {
    if (stream_ != nullptr) cudaStreamSynchronize(stream_);
    for (const Staging& staging : staging_) {
      if (staging.free != nullptr) cudaEventDestroy(staging.free);
      if (staging.data != nullptr) cudaFreeHost(staging.data);
    }
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  const DeviceProperties& properties() const override { return properties_; }
  Stream stream() const override { return {.handle = stream_}; }

  absl::StatusOr<void*> Allocate(int64_t byte_count, std::string_view what) override {
    void* memory = nullptr;
    const cudaError_t error = cudaMallocAsync(&memory, std::max<int64_t>(byte_count, 1), stream_);
    if (error == cudaSuccess) return memory;
    cudaGetLastError();  // Clears the error, which the next launch would report otherwise.
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    return CudaStatus(error, fmt::format("{}: {} bytes on '{}', which has {} of {} free", what, byte_count,
                                         properties_.name, free, total));
  }
  void Free(void* memory) override { cudaFreeAsync(memory, stream_); }

  // Copies through two pinned staging buffers (double buffering).
  absl::Status ToDevice(void* to, const void* from, int64_t byte_count) override {
    for (int64_t done = 0; done < byte_count;) {
      const int64_t n = std::min<int64_t>(kStagingBytes, byte_count - done);
      Staging& staging = staging_[next_staging_ ^= 1];
      HLO_RETURN_IF_ERROR(CudaStatus(cudaEventSynchronize(staging.free), "waiting for a copy to the GPU"));
      std::memcpy(staging.data, static_cast<const std::byte*>(from) + done, n);
      HLO_RETURN_IF_ERROR(CudaStatus(cudaMemcpyAsync(static_cast<std::byte*>(to) + done, staging.data, n,
                                                     cudaMemcpyHostToDevice, stream_),
                                     fmt::format("copying {} bytes to the GPU", byte_count)));
      HLO_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(staging.free, stream_), "copying to the GPU"));
      done += n;
    }
    return absl::OkStatus();
  }
  absl::Status ToHost(void* to, const void* from, int64_t byte_count) override {
    const int64_t pieces = (byte_count + kStagingBytes - 1) / kStagingBytes;
    const auto length = [&](int64_t piece) {
      return std::min<int64_t>(kStagingBytes, byte_count - piece * kStagingBytes);
    };
    // The transfer of a piece overlaps with copying out the previous one.
    for (int64_t piece = 0; piece <= pieces; ++piece) {
      if (piece < pieces) {
        Staging& staging = staging_[piece % 2];
        HLO_RETURN_IF_ERROR(CudaStatus(
            cudaMemcpyAsync(staging.data, static_cast<const std::byte*>(from) + piece * kStagingBytes,
                            length(piece), cudaMemcpyDeviceToHost, stream_),
            fmt::format("copying {} bytes from the GPU", byte_count)));
        HLO_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(staging.free, stream_), "copying from the GPU"));
      }
      if (piece == 0) continue;
      const Staging& before = staging_[(piece - 1) % 2];
      HLO_RETURN_IF_ERROR(CudaStatus(cudaEventSynchronize(before.free), "waiting for the GPU"));
      std::memcpy(static_cast<std::byte*>(to) + (piece - 1) * kStagingBytes, before.data, length(piece - 1));
    }
    return absl::OkStatus();
  }
  absl::Status Copy(void* to, const void* from, int64_t byte_count) override {
    if (byte_count == 0) return absl::OkStatus();
    return CudaStatus(cudaMemcpyAsync(to, from, byte_count, cudaMemcpyDeviceToDevice, stream_),
                      fmt::format("copying {} bytes on the GPU", byte_count));
  }
  absl::Status Synchronize() override {
    return CudaStatus(cudaStreamSynchronize(stream_), "waiting for the GPU");
  }
  absl::StatusOr<std::unique_ptr<GpuLoop>> RecordLoop(const bool* goes_on,
                                                      std::function<absl::Status()> turn) override {
    return RecordCudaLoop(stream(), goes_on, turn);
  }
  absl::Status RecordBranch(const void* choice, bool is_pred,
                            absl::Span<const std::function<absl::Status()>> branches) override {
    return RecordCudaBranch(stream(), choice, is_pred, branches);
  }

 private:
  static constexpr int64_t kStagingBytes = 8 << 20;
  struct Staging {
    void* data = nullptr;
    cudaEvent_t free = nullptr;  // An event that was never recorded counts as complete.
  };
  DeviceProperties properties_;
  cudaStream_t stream_ = nullptr;
  std::array<Staging, 2> staging_;
  int next_staging_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<DeviceProperties>> ListGpus() {
  HLO_ASSIGN_OR_RETURN(const int count, CountGpus());
  std::vector<DeviceProperties> gpus;
  for (int number = 0; number < count; ++number) {
    HLO_ASSIGN_OR_RETURN(DeviceProperties properties, PropertiesOf(number));
    gpus.push_back(std::move(properties));
  }
  return gpus;
}

absl::StatusOr<std::unique_ptr<Gpu>> OpenGpu(int number) {
  HLO_ASSIGN_OR_RETURN(const int count, CountGpus());
  if (number < 0 || number >= count)
    return absl::InvalidArgumentError(fmt::format("there is no GPU {}: this machine has {}", number, count));
  return CudaGpu::Open(number);
}

}  // namespace hlo::device
