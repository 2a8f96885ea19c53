#pragma once
// A stream that kernels are enqueued on: of a GPU, or of the emulator on the host.

#include <cstdint>

struct CUstream_st;

namespace hlo::device {

struct Stream {
  CUstream_st* handle = nullptr;  // nullptr: the default stream.
  bool emulated = false;          // Kernels run synchronously on the host, on host memory.
  int32_t schedule = 0;           // Index into cuda::kSchedules, for the emulator.

  operator CUstream_st*() const { return handle; }  // NOLINT: CUDA functions take the handle.
};

}  // namespace hlo::device
