#pragma once
// Memory and copies of one GPU, in the order of one stream. There are two implementations: CUDA (cuda.cc),
// and one on host memory for tests of the layers above.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/properties.h"
#include "device/stream.h"

namespace hlo::device {

// Captured work that one call enqueues.
class GpuGraph {
 public:
  virtual ~GpuGraph() = default;
  // Enqueues the work. A loop runs iterations until one stores false to the predicate, and at least one.
  virtual absl::Status Run() = 0;
};

class Gpu {
 public:
  virtual ~Gpu() = default;
  virtual const DeviceProperties& properties() const = 0;
  virtual Stream stream() const = 0;
  // Selects this GPU for the calling thread, which must do so before it uses a GPU of several.
  virtual absl::Status MakeCurrent() = 0;

  // Allocates uninitialised memory, aligned to kAlignment (align.h). Returns ResourceExhausted with the
  // requested and available sizes.
  virtual absl::StatusOr<void*> Allocate(int64_t byte_count, std::string_view what) = 0;
  virtual void Free(void* memory) = 0;

  // The caller may modify the source after this returns.
  virtual absl::Status ToDevice(void* to, const void* from, int64_t byte_count) = 0;
  // Waits for all previously enqueued work.
  virtual absl::Status ToHost(void* to, const void* from, int64_t byte_count) = 0;
  // Copies from device to device; the areas must not overlap.
  virtual absl::Status Copy(void* to, const void* from, int64_t byte_count) = 0;
  // Copies `row_count` rows of `row_bytes` bytes to this device from `source`, which may be another; rows
  // begin every `to_pitch` and `from_pitch` bytes. The copy waits for work of this device alone.
  virtual absl::Status CopyRowsFrom(const Gpu& source, void* to, int64_t to_pitch, const void* from,
                                    int64_t from_pitch, int64_t row_bytes, int64_t row_count) = 0;
  virtual absl::Status Synchronize() = 0;

  // Captures the launches and copies of `work`, to which the rules for `iteration` below apply. Returns
  // Unimplemented if the device does not support it; the caller then runs the work itself.
  virtual absl::StatusOr<std::unique_ptr<GpuGraph>> Capture(std::function<absl::Status()> work) = 0;
  // Captures a loop that continues while an iteration stores true to `predicate`, in device memory.
  // `iteration` may only launch kernels and copy from device to device, must enqueue the same work in every
  // call, and must live as long as the loop. Returns Unimplemented if the device does not support it; the
  // caller then runs the loop on the host.
  virtual absl::StatusOr<std::unique_ptr<GpuGraph>> CaptureLoop(const bool* predicate,
                                                                std::function<absl::Status()> iteration) = 0;
  // Captures a conditional within an `iteration`. `choice`, in device memory, is read when the conditional is
  // reached: a true pred selects the first branch and a false one the second; an s32 is the branch number.
  // Numbers out of range select the last branch. The rules for `iteration` apply to the branches. Returns
  // Unimplemented if the device does not support it.
  virtual absl::Status CaptureBranch(const void* choice, bool is_pred,
                                     absl::Span<const std::function<absl::Status()>> branches) = 0;

  // Held by a run. Executables that were made on one thread share a GPU, and may run on different threads; a
  // custom call may run an executable within the run of another.
  std::recursive_mutex& in_use() { return in_use_; }

 private:
  std::recursive_mutex in_use_;
};

// Owns memory of a GPU, which must outlive it.
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

// Returns the GPUs of this machine. Returns Unimplemented with a reason: no CUDA in this build, no driver, no
// device.
absl::StatusOr<std::vector<DeviceProperties>> ListGpus();
// Begins to create the context of a GPU, which takes 0.2 s, on another thread. OpenGpu then waits for the
// rest of that time. Errors are those of OpenGpu.
void PrepareGpu(int number);
// Returns InvalidArgument if there is no GPU with that number.
absl::StatusOr<std::unique_ptr<Gpu>> OpenGpu(int number);
// Returns a GPU whose kernels run in the emulator; `schedule` as in Stream.
std::unique_ptr<Gpu> MakeEmulatedGpu(int schedule = 0);

}  // namespace hlo::device
