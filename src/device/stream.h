#pragma once
// Where kernels are enqueued: a stream of a GPU, or the emulator on the host.

#include <cstdint>

struct CUstream_st;

namespace hlo::device {

struct Stream {
  CUstream_st* handle = nullptr;  // nullptr: the default stream.
  bool emulated = false;          // Then kernels run on the host, at once, on host memory.
  int32_t schedule = 0;           // The emulator's: which of cuda::kSchedules.

  operator CUstream_st*() const { return handle; }  // NOLINT: what CUDA's functions take.
};

}  // namespace hlo::device
