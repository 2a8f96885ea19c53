#pragma once
// Memory and copies of one GPU: everything in the order of one stream. Two of them: CUDA's (cuda.cc), and one
// that keeps its memory on the host, for tests of all that is above it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/properties.h"
#include "device/stream.h"

namespace hlo::device {

// Work of a GPU that it repeats by itself.
class GpuLoop {
 public:
  virtual ~GpuLoop() = default;
  // Enqueues turns until one leaves false behind; the first one in any case.
  virtual absl::Status Run() = 0;
};

class Gpu {
 public:
  virtual ~Gpu() = default;
  virtual const DeviceProperties& properties() const = 0;
  virtual Stream stream() const = 0;

  // Aligned to kAlignment (align.h), without defined contents. ResourceExhausted says what was asked for and
  // what is there.
  virtual absl::StatusOr<void*> Allocate(int64_t byte_count, std::string_view what) = 0;
  virtual void Free(void* memory) = 0;

  // The source may change once this returns.
  virtual absl::Status ToDevice(void* to, const void* from, int64_t byte_count) = 0;
  // Waits for what was enqueued before.
  virtual absl::Status ToHost(void* to, const void* from, int64_t byte_count) = 0;
  // From device to device; the areas do not overlap.
  virtual absl::Status Copy(void* to, const void* from, int64_t byte_count) = 0;
  virtual absl::Status Synchronize() = 0;

  // The loop goes on while a turn leaves true in `goes_on`, on the device. `turn` only launches kernels and
  // copies from device to device, the same ones whenever it is called, and lives as long as the loop.
  // Unimplemented: this device cannot; the caller repeats the turns.
  virtual absl::StatusOr<std::unique_ptr<GpuLoop>> RecordLoop(const bool* goes_on,
                                                              std::function<absl::Status()> turn) = 0;
  // For a `turn` alone: the branch that `choice`, on the device, names when the turn comes here. A pred names
  // the first if it is true and else the second, an s32 that of its number; one out of range names the last.
  // The branches are as `turn`. Unimplemented: this device cannot.
  virtual absl::Status RecordBranch(const void* choice, bool is_pred,
                                    absl::Span<const std::function<absl::Status()>> branches) = 0;
};

// Memory of a GPU, which outlives it.
class GpuMemory {
 public:
  GpuMemory() = default;
  GpuMemory(Gpu& gpu, void* data) : gpu_(&gpu), data_(data) {}
  GpuMemory(GpuMemory&& other) noexcept : gpu_(other.gpu_), data_(std::exchange(other.data_, nullptr)) {}
  GpuMemory& operator=(GpuMemory&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~GpuMemory() {
    if (data_ != nullptr) gpu_->Free(data_);
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  Gpu* gpu_ = nullptr;
  void* data_ = nullptr;
};

// The GPUs of this machine. Unimplemented, and why: no CUDA in this build, no driver, no device.
absl::StatusOr<std::vector<DeviceProperties>> ListGpus();
// InvalidArgument: there is no GPU of that number.
absl::StatusOr<std::unique_ptr<Gpu>> OpenGpu(int number);
// Kernels of its stream run in the emulator; `schedule` as in Stream.
std::unique_ptr<Gpu> MakeEmulatedGpu(int schedule = 0);

}  // namespace hlo::device
