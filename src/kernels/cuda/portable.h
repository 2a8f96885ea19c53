#pragma once
// What kernel bodies are written with, so that one source compiles for the device and for the host. A body is
//   template <class Env> HLO_DEVICE void SomethingBody(Env& env, const SomethingArgs& args);
// over an environment: DeviceEnv (env.h) or HostEnv (emulator.h). It uses no built-in of CUDA.

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define HLO_DEVICE __host__ __device__ __forceinline__
// For what is called from many places, or rarely.
#define HLO_DEVICE_CALLED inline __host__ __device__ __noinline__
// Before a loop of a fixed number of turns, over arrays that are to stay in registers.
#define HLO_UNROLL _Pragma("unroll")
// Before a loop that is to stay small.
#define HLO_ROLLED _Pragma("unroll 1")
#else
#define HLO_DEVICE inline
#define HLO_DEVICE_CALLED inline
#define HLO_UNROLL _Pragma("GCC unroll 16")
#define HLO_ROLLED
#endif

namespace hlo::cuda {

constexpr uint32_t kWarpSize = 32;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

// How a kernel is launched: blocks, threads of each (a multiple of 32, in one dimension), dynamic shared
// memory.
struct LaunchShape {
  Dim3 grid;
  uint32_t threads = 256;
  size_t shared_bytes = 0;
};

}  // namespace hlo::cuda
