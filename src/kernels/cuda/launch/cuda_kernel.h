#pragma once
// A kernel that computes a whole instruction.

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "device/properties.h"
#include "device/stream.h"

namespace hlo::cuda {

using device::DeviceProperties;
using device::Stream;

struct CudaKernel {
  std::string name;  // Describes tile and order of accumulation: "dot f32 128x128x16".
  int64_t workspace_bytes = 0;
  // Enqueues the kernel on the stream. Operands and results are dense row-major device arrays of the
  // instruction's leaf shapes (nullptr: a token). Never synchronises and never allocates. Uses only
  // Launch<...> of launch.h, so an emulated stream computes the same on the host.
  std::function<absl::Status(absl::Span<const void* const> operands, absl::Span<void* const> results,
                             void* workspace, Stream stream)>
      run;
  // The last operand is a pointer to the run's RunState (run_state.h).
  bool needs_run_state = false;
  int32_t updated = 0;    // Number of leading results that may alias the leading operands.
  bool may_loop = false;  // The kernel may not terminate, because it runs loops of the module.
};

}  // namespace hlo::cuda
