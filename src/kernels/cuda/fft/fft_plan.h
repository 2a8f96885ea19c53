#pragma once
// Plans a Fourier transform as a sequence of launches:
//   * lengths with small prime factors that fit into a thread block: one launch per axis, with one kernel for
//     each power of two;
//   * longer ones, N = N1 N2 (four-step): columns of length N2, twiddle factors, then rows of length N1
//     (recursively);
//   * other lengths by Bluestein's algorithm;
//   * real lines of even length as complex lines of half the length.

#include <map>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "hlo_run/attribute.h"
#include "kernels/cuda/fft/fft_body.h"
#include "kernels/cuda/fft/fft_power_of_two_body.h"

namespace hlo::cuda {

// Input, output and workspaces. The workspaces store the results between columns and rows, between the
// transforms of a convolution, between axes, and of half lines.
enum class FftBuffer : uint8_t { kInput, kOutput, kSplitWork, kChirpWork, kAxisWork, kHalfWork };
inline constexpr int kFftWorkspaces = 4;

struct FftStep {
  // Byte offsets of the tables in the constants; -1: not needed.
  struct Tables {
    int64_t roots = -1, chirp = -1, spectrum = -1, coarse = -1, fine = -1, half_roots = -1;
  };
  FftBuffer from = FftBuffer::kInput, to = FftBuffer::kOutput;
  LaunchShape shape;
  bool wide = false;     // Uses the radices 11 and 13.
  bool is_half = false;  // The step runs FftHalfKernel.
  // The length of the lines if a kernel of fft_power_of_two_body.h transforms them; otherwise 0.
  uint32_t power_of_two = 0;
  FftAccess access = FftAccess::kPoints;  // The memory accesses of that kernel.
  Tables tables;
  FftArgs args;
  FftHalfArgs half;
  FftLinesArgs power_args;
};

struct FftPlan {
  bool is_double = false;
  std::vector<FftStep> steps;
  std::vector<std::byte> constants;
  int64_t work_bytes[kFftWorkspaces] = {};  // Multiples of 256.
  int64_t workspace_bytes() const;
};

constexpr int64_t kMaxFftSharedBytes = 227 << 10;

// Plans a transform of the last `length.size()` dimensions. Returns nullopt if it is too large for the plans
// above. The plan of empty arrays has no steps.
std::optional<FftPlan> PlanFft(FftType type, bool is_double, absl::Span<const int64_t> in_dims,
                               absl::Span<const int64_t> length, int64_t shared_bytes = kMaxFftSharedBytes);

// The pointers of a run.
struct FftPointers {
  const void* input;
  void* output;
  void* workspace;
  const void* constants;
};
// Returns the step with the pointers in its arguments.
FftStep Bound(const FftPlan& plan, FftStep step, const FftPointers& pointers);

}  // namespace hlo::cuda
