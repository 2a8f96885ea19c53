// A GPU whose memory is the host's.

#include <cstdlib>
#include <cstring>

#include "device/gpu.h"
#include "fmt/format.h"

namespace hlo::device {
namespace {

class EmulatedGpu : public Gpu {
 public:
  explicit EmulatedGpu(int schedule) {
    properties_ = {.name = "emulated", .compute_capability = 80, .multiprocessors = 4};
    properties_.shared_bytes_per_block = 160 << 10;
    stream_.emulated = true;
    stream_.schedule = schedule;
  }
  const DeviceProperties& properties() const override { return properties_; }
  Stream stream() const override { return stream_; }

  absl::StatusOr<void*> Allocate(int64_t byte_count, std::string_view what) override {
    const size_t bytes = (static_cast<size_t>(byte_count) + 255) / 256 * 256;
    void* memory = std::aligned_alloc(256, bytes == 0 ? 256 : bytes);
    if (memory == nullptr)
      return absl::ResourceExhaustedError(fmt::format("{}: no {} bytes of memory", what, byte_count));
    std::memset(memory, 0xff, bytes);  // Nobody may count on zeros.
    return memory;
  }
  void Free(void* memory) override { std::free(memory); }
  absl::Status ToDevice(void* to, const void* from, int64_t byte_count) override {
    return Copy(to, from, byte_count);
  }
  absl::Status ToHost(void* to, const void* from, int64_t byte_count) override {
    return Copy(to, from, byte_count);
  }
  absl::Status Copy(void* to, const void* from, int64_t byte_count) override {
    if (byte_count > 0) std::memcpy(to, from, byte_count);
    return absl::OkStatus();
  }
  absl::Status Synchronize() override { return absl::OkStatus(); }

 private:
  DeviceProperties properties_;
  Stream stream_;
};

}  // namespace

std::unique_ptr<Gpu> MakeEmulatedGpu(int schedule) { return std::make_unique<EmulatedGpu>(schedule); }

}  // namespace hlo::device
