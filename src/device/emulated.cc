// A GPU that uses host memory.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/status.h"
#include "device/align.h"
#include "device/gpu.h"
#include "fmt/format.h"

namespace hlo::device {
namespace {

// Rejects operations that a graph cannot contain.
class EmulatedGraph : public GpuGraph {
 public:
  EmulatedGraph(std::function<absl::Status()> work, bool* is_recorded)
      : work_(std::move(work)), is_recorded_(is_recorded) {}
  absl::Status Run() override {
    *is_recorded_ = true;
    absl::Status status = work_();
    *is_recorded_ = false;
    return status;
  }

 private:
  std::function<absl::Status()> work_;
  bool* is_recorded_;
};
class EmulatedLoop : public GpuGraph {
 public:
  EmulatedLoop(const bool* predicate, std::function<absl::Status()> iteration, bool* in_iteration)
      : predicate_(predicate), iteration_(std::move(iteration)), in_iteration_(in_iteration) {}
  absl::Status Run() override {
    do {
      *in_iteration_ = true;
      const absl::Status status = iteration_();
      *in_iteration_ = false;
      HLO_RETURN_IF_ERROR(status);
    } while (*predicate_);
    return absl::OkStatus();
  }

 private:
  const bool* predicate_;
  std::function<absl::Status()> iteration_;
  bool* in_iteration_;
};

class EmulatedGpu : public Gpu {
 public:
  explicit EmulatedGpu(int schedule) {
    properties_ = {.name = "emulated", .number = schedule, .compute_capability = 80, .multiprocessors = 4};
    properties_.shared_bytes_per_block = 160 << 10;
    stream_.emulated = true;
    stream_.schedule = schedule;
  }
  const DeviceProperties& properties() const override { return properties_; }
  Stream stream() const override { return stream_; }
  absl::Status MakeCurrent() override { return absl::OkStatus(); }

  absl::StatusOr<void*> Allocate(int64_t byte_count, std::string_view what) override {
    HLO_RETURN_IF_ERROR(RequireNoCapture("an allocation"));
    const auto bytes = static_cast<size_t>(Aligned(std::max<int64_t>(byte_count, 1)));
    void* memory = std::aligned_alloc(kAlignment, bytes);
    if (memory == nullptr)
      return absl::ResourceExhaustedError(fmt::format("{}: no {} bytes of memory", what, byte_count));
    std::memset(memory, 0xff, bytes);  // Exposes reads of uninitialised memory.
    return memory;
  }
  void Free(void* memory) override { std::free(memory); }
  absl::Status ToDevice(void* to, const void* from, int64_t byte_count) override {
    HLO_RETURN_IF_ERROR(RequireNoCapture("a copy from the host"));
    return Copy(to, from, byte_count);
  }
  absl::Status ToHost(void* to, const void* from, int64_t byte_count) override {
    HLO_RETURN_IF_ERROR(RequireNoCapture("a copy to the host"));
    return Copy(to, from, byte_count);
  }
  absl::Status Copy(void* to, const void* from, int64_t byte_count) override {
    if (byte_count > 0) std::memcpy(to, from, byte_count);
    return absl::OkStatus();
  }
  absl::Status CopyRowsFrom(const Gpu& /*source*/, void* to, int64_t to_pitch, const void* from,
                            int64_t from_pitch, int64_t row_bytes, int64_t row_count) override {
    HLO_RETURN_IF_ERROR(RequireNoCapture("a copy from another device"));
    for (int64_t row = 0; row < row_count; ++row) {
      HLO_RETURN_IF_ERROR(Copy(static_cast<std::byte*>(to) + row * to_pitch,
                               static_cast<const std::byte*>(from) + row * from_pitch, row_bytes));
    }
    return absl::OkStatus();
  }
  absl::Status Synchronize() override { return RequireNoCapture("waiting"); }

  absl::StatusOr<std::unique_ptr<GpuGraph>> Capture(std::function<absl::Status()> work) override {
    return std::make_unique<EmulatedGraph>(std::move(work), &is_recording_);
  }
  absl::StatusOr<std::unique_ptr<GpuGraph>> CaptureLoop(const bool* predicate,
                                                        std::function<absl::Status()> iteration) override {
    return std::make_unique<EmulatedLoop>(predicate, std::move(iteration), &is_recording_);
  }
  absl::Status CaptureBranch(const void* choice, bool is_pred,
                             absl::Span<const std::function<absl::Status()>> branches) override {
    if (!is_recording_) return absl::InternalError("a branch is recorded outside of a loop");
    const auto last = static_cast<int64_t>(branches.size()) - 1;
    int64_t number =
        is_pred ? (*static_cast<const bool*>(choice) ? 0 : 1) : *static_cast<const int32_t*>(choice);
    if (number < 0 || number > last) number = last;
    return branches[number]();
  }

 private:
  absl::Status RequireNoCapture(std::string_view what) const {
    return is_recording_ ? absl::InternalError(fmt::format("{} inside of a recorded graph", what))
                         : absl::OkStatus();
  }

  bool is_recording_ = false;
  DeviceProperties properties_;
  Stream stream_;
};

}  // namespace

std::unique_ptr<Gpu> MakeEmulatedGpu(int schedule) { return std::make_unique<EmulatedGpu>(schedule); }

}  // namespace hlo::device
