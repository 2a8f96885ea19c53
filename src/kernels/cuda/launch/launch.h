#pragma once
// Launches a kernel body on the device or in the emulator. The *_body.h of a family declares each kernel as
//   struct Something {
//     using Args = SomethingArgs;               // Plain data, at most 32,764 bytes.
//     static constexpr uint32_t kThreads = 256; // Maximum block size.
//     static constexpr uint32_t kMinBlocks = 4; // Per multiprocessor; optional.
//     template <class Env> static HLO_DEVICE void Run(Env& env, const Args& args);  // The body.
//   };
// Its .cu file contains HLO_CUDA_KERNEL(Something) (launch.cuh), and plain C++ calls Launch<Something>(...).

#include "absl/status/status.h"
#include "device/stream.h"
#include "kernels/cuda/emulator/emulator.h"
#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

// Enqueues the kernel. Returns a cudaError_t. Defined by HLO_CUDA_KERNEL.
template <class Kernel>
int LaunchOnDevice(const LaunchShape& shape, const typename Kernel::Args& args, CUstream_st* stream);

// Converts a cudaError_t to a status that describes the launch.
absl::Status LaunchStatus(int cuda_error, const LaunchShape& shape);

// Returns Internal if a GPU would refuse the launch of a kernel with blocks of at most `max_threads`.
absl::Status CheckLaunch(const LaunchShape& shape, uint32_t max_threads);

template <class Kernel>
absl::Status Launch(const LaunchShape& shape, const typename Kernel::Args& args, device::Stream stream) {
  static_assert(sizeof(typename Kernel::Args) <= 32764);
  if (stream.emulated) {
    if (absl::Status refused = CheckLaunch(shape, Kernel::kThreads); !refused.ok()) return refused;
    return Emulate(shape.grid, shape.threads, shape.shared_bytes, kSchedules[stream.schedule],
                   [&](HostEnv& env) { Kernel::Run(env, args); });
  }
#ifdef HLO_RUN_HAS_CUDA
  return LaunchStatus(LaunchOnDevice<Kernel>(shape, args, stream.handle), shape);
#else
  return absl::UnimplementedError("this build has no CUDA engine");
#endif
}

}  // namespace hlo::cuda
