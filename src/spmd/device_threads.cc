#include "spmd/device_threads.h"

#include <pthread.h>

#include <vector>

namespace hlo::spmd {
namespace {

// Pages of a stack take memory when they are first touched, so a waiting device takes a few.
constexpr size_t kStackBytes = size_t{8} << 20;

struct DeviceThread {
  const absl::FunctionRef<void(int64_t)>* body;
  int64_t device;
  pthread_t thread;
};

void* RunDeviceThread(void* argument) {
  const auto& thread = *static_cast<const DeviceThread*>(argument);
  (*thread.body)(thread.device);
  return nullptr;
}

}  // namespace

void RunOnThreads(int64_t count, absl::FunctionRef<void(int64_t)> body,
                  absl::FunctionRef<void(int64_t)> refused) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  std::vector<DeviceThread> threads(count);
  int64_t started = 0;
  for (; started < count; ++started) {
    threads[started] = {&body, started, {}};
    if (pthread_create(&threads[started].thread, &attributes, &RunDeviceThread, &threads[started]) != 0)
      break;
  }
  pthread_attr_destroy(&attributes);
  for (int64_t device = started; device < count; ++device) refused(device);
  for (int64_t device = 0; device < started; ++device) pthread_join(threads[device].thread, nullptr);
}

}  // namespace hlo::spmd
