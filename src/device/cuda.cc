// GPUs through the CUDA runtime.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <set>
#include <thread>

#include "base/status.h"
#include "device/cuda_graph.h"
#include "device/cuda_loop.h"
#include "device/gpu.h"
#include "device/staged_copy.h"
#include "device/status.h"
#include "fmt/format.h"

namespace hlo::device {

absl::Status CudaStatus(int cuda_error, std::string_view doing) {
  const auto error = static_cast<cudaError_t>(cuda_error);
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();  // Clears the error, which the next launch would report otherwise.
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
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorNoKernelImageForDevice:
      return absl::UnimplementedError(
          fmt::format("{}: this build has no kernels for this GPU's compute capability: configure it with "
                      "-DHLO_RUN_CUDA_ARCHITECTURES=native on this machine, or with the number ({})",
                      doing, cudaGetErrorName(error)));
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
  properties.number = number;
  properties.compute_capability = found.major * 10 + found.minor;
  properties.multiprocessors = found.multiProcessorCount;
  properties.shared_bytes_per_block = static_cast<int64_t>(found.sharedMemPerBlockOptin);
  int limits_time = 0;
  HLO_RETURN_IF_ERROR(CudaStatus(cudaDeviceGetAttribute(&limits_time, cudaDevAttrKernelExecTimeout, number),
                                 "asking for the limit of a kernel's time"));
  properties.limits_kernel_time = limits_time != 0;
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
    HLO_RETURN_IF_ERROR(gpu->MakeCurrent());
    HLO_RETURN_IF_ERROR(
        CudaStatus(cudaStreamCreateWithFlags(&gpu->stream_, cudaStreamNonBlocking), "making a stream"));
    return gpu;
  }
  ~CudaGpu() override {
    if (stream_ != nullptr) cudaStreamSynchronize(stream_);
    for (const cudaEvent_t free : staging_.free) {
      if (free != nullptr) cudaEventDestroy(free);
    }
    if (staging_.data != nullptr) cudaFreeHost(staging_.data);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  const DeviceProperties& properties() const override { return properties_; }
  Stream stream() const override { return {.handle = stream_}; }
  absl::Status MakeCurrent() override {
    return CudaStatus(cudaSetDevice(properties_.number), fmt::format("selecting GPU {}", properties_.number));
  }

  absl::StatusOr<void*> Allocate(int64_t byte_count, std::string_view what) override {
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, std::max<int64_t>(byte_count, 1));
    if (error == cudaSuccess) return memory;
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    return CudaStatus(error, fmt::format("{}: {} bytes on '{}', which has {} of {} free", what, byte_count,
                                         properties_.name, free, total));
  }
  void Free(void* memory) override { cudaFree(memory); }

  absl::Status ToDevice(void* to, const void* from, int64_t byte_count) override {
    if (byte_count == 0) return absl::OkStatus();
    if (byte_count <= kUnstagedBytes) {
      // The driver has read pageable memory of this size when the call returns.
      return CudaStatus(cudaMemcpyAsync(to, from, byte_count, cudaMemcpyHostToDevice, stream_),
                        fmt::format("copying {} bytes to the GPU", byte_count));
    }
    HLO_RETURN_IF_ERROR(MakeStaging());
    Transfer transfer(*this, static_cast<std::byte*>(to), cudaMemcpyHostToDevice);
    return CopyToGpu(from, byte_count, transfer);
  }
  absl::Status ToHost(void* to, const void* from, int64_t byte_count) override {
    if (byte_count == 0) return Synchronize();
    if (byte_count <= kUnstagedBytes) {
      HLO_RETURN_IF_ERROR(CudaStatus(cudaMemcpyAsync(to, from, byte_count, cudaMemcpyDeviceToHost, stream_),
                                     fmt::format("copying {} bytes from the GPU", byte_count)));
      return Synchronize();
    }
    HLO_RETURN_IF_ERROR(MakeStaging());
    Transfer transfer(*this, static_cast<std::byte*>(const_cast<void*>(from)), cudaMemcpyDeviceToHost);
    return CopyFromGpu(to, byte_count, transfer);
  }
  absl::Status Copy(void* to, const void* from, int64_t byte_count) override {
    if (byte_count == 0) return absl::OkStatus();
    return CudaStatus(cudaMemcpyAsync(to, from, byte_count, cudaMemcpyDeviceToDevice, stream_),
                      fmt::format("copying {} bytes on the GPU", byte_count));
  }
  absl::Status CopyRowsFrom(const Gpu& source, void* to, int64_t to_pitch, const void* from,
                            int64_t from_pitch, int64_t row_bytes, int64_t row_count) override {
    if (row_bytes == 0 || row_count == 0) return absl::OkStatus();
    const int number = properties_.number, other = source.properties().number;
    if (number != other) EnablePeer(other);
    if (row_count == 1 || std::max(to_pitch, from_pitch) > kMaxPitch) {
      for (int64_t row = 0; row < row_count; ++row) {
        HLO_RETURN_IF_ERROR(CopyRowFrom(other, static_cast<std::byte*>(to) + row * to_pitch,
                                        static_cast<const std::byte*>(from) + row * from_pitch, row_bytes));
      }
      return absl::OkStatus();
    }
    const auto bytes = static_cast<size_t>(row_bytes), rows = static_cast<size_t>(row_count);
    const auto pitched = [&](const void* data, int64_t pitch) {
      return cudaPitchedPtr{const_cast<void*>(data), static_cast<size_t>(pitch), bytes, rows};
    };
    const std::string doing =
        fmt::format("copying {} rows of {} bytes from GPU {} to GPU {}", row_count, row_bytes, other, number);
    if (number == other) {
      return CudaStatus(
          cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes, rows, cudaMemcpyDeviceToDevice, stream_),
          doing);
    }
    cudaMemcpy3DPeerParms copy = {};
    copy.srcDevice = other;
    copy.srcPtr = pitched(from, from_pitch);
    copy.dstDevice = number;
    copy.dstPtr = pitched(to, to_pitch);
    copy.extent = {bytes, rows, 1};
    return CudaStatus(cudaMemcpy3DPeerAsync(&copy, stream_), doing);
  }
  absl::Status Synchronize() override {
    return CudaStatus(cudaStreamSynchronize(stream_), "waiting for the GPU");
  }
  absl::StatusOr<std::unique_ptr<GpuGraph>> Capture(std::function<absl::Status()> work) override {
    return RecordCudaGraph(stream(), work);
  }
  absl::StatusOr<std::unique_ptr<GpuGraph>> CaptureLoop(const bool* predicate,
                                                        std::function<absl::Status()> iteration) override {
    return RecordCudaLoop(stream(), predicate, iteration);
  }
  absl::Status CaptureBranch(const void* choice, bool is_pred,
                             absl::Span<const std::function<absl::Status()>> branches) override {
    return RecordCudaBranch(stream(), choice, is_pred, branches);
  }

 private:
  static constexpr int64_t kUnstagedBytes = 64 << 10;
  static constexpr int64_t kMaxPitch = INT32_MAX;  // The limit of copies of rows (cudaDeviceProp::memPitch).
  absl::Status CopyRowFrom(int other, void* to, const void* from, int64_t byte_count) {
    if (properties_.number == other) return Copy(to, from, byte_count);
    return CudaStatus(
        cudaMemcpyPeerAsync(to, properties_.number, from, other, static_cast<size_t>(byte_count), stream_),
        fmt::format("copying {} bytes from GPU {} to GPU {}", byte_count, other, properties_.number));
  }
  // Pinned memory for large copies. It is made when the first one needs it, because pinning takes
  // milliseconds.
  struct Staging {
    std::byte* data = nullptr;
    std::array<cudaEvent_t, PieceTransfer::kSlots> free =
        {};  // An event that was never recorded counts as complete.
  };
  absl::Status MakeStaging() {
    if (staging_.data != nullptr) return absl::OkStatus();
    void* data = nullptr;
    HLO_RETURN_IF_ERROR(CudaStatus(cudaMallocHost(&data, PieceTransfer::kSlots * PieceTransfer::kPieceBytes),
                                   "taking pinned memory"));
    staging_.data = static_cast<std::byte*>(data);
    for (cudaEvent_t& free : staging_.free)
      HLO_RETURN_IF_ERROR(
          CudaStatus(cudaEventCreateWithFlags(&free, cudaEventDisableTiming), "making an event"));
    return absl::OkStatus();
  }

  // Without access the driver copies through the host, so failure is not an error.
  void EnablePeer(int other) {
    if (!enabled_peers_.insert(other).second) return;
    int can_access = 0;
    if (cudaDeviceCanAccessPeer(&can_access, properties_.number, other) == cudaSuccess && can_access != 0)
      cudaDeviceEnablePeerAccess(other, 0);
    cudaGetLastError();  // Another stream of this GPU may have enabled it already.
  }

  // Threads of a pool select the device, because calls with another current device would create its context.
  class Transfer : public PieceTransfer {
   public:
    Transfer(CudaGpu& gpu, std::byte* device, cudaMemcpyKind kind)
        : gpu_(gpu), device_(device), kind_(kind) {}
    std::byte* memory(int slot) override { return gpu_.staging_.data + slot * kPieceBytes; }
    absl::Status Start(int slot, int64_t offset, int64_t byte_count) override {
      HLO_RETURN_IF_ERROR(gpu_.MakeCurrent());
      std::byte *device = device_ + offset, *host = memory(slot);
      const bool to_host = kind_ == cudaMemcpyDeviceToHost;
      HLO_RETURN_IF_ERROR(CudaStatus(cudaMemcpyAsync(to_host ? host : device, to_host ? device : host,
                                                     static_cast<size_t>(byte_count), kind_, gpu_.stream_),
                                     to_host ? "copying from the GPU" : "copying to the GPU"));
      return CudaStatus(cudaEventRecord(gpu_.staging_.free[slot], gpu_.stream_),
                        "recording the end of a copy");
    }
    absl::Status Wait(int slot) override {
      HLO_RETURN_IF_ERROR(gpu_.MakeCurrent());
      return CudaStatus(cudaEventSynchronize(gpu_.staging_.free[slot]), "waiting for a copy");
    }

   private:
    CudaGpu& gpu_;
    std::byte* device_;
    cudaMemcpyKind kind_;
  };

  DeviceProperties properties_;
  cudaStream_t stream_ = nullptr;
  Staging staging_;
  std::set<int> enabled_peers_;
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

void PrepareGpu(int number) {
  // The thread ends before the process does, because the driver must not be interrupted in its work.
  static std::jthread thread;
  if (thread.joinable()) return;
  thread = std::jthread([number] {
    if (cudaSetDevice(number) == cudaSuccess) cudaFree(nullptr);  // Creates the context.
    cudaGetLastError();
  });
}

absl::StatusOr<std::unique_ptr<Gpu>> OpenGpu(int number) {
  HLO_ASSIGN_OR_RETURN(const int count, CountGpus());
  if (number < 0 || number >= count)
    return absl::InvalidArgumentError(fmt::format("there is no GPU {}: this machine has {}", number, count));
  return CudaGpu::Open(number);
}

}  // namespace hlo::device
