#pragma once
// How is a Fourier transform cut into launches?
//   * lengths of small prime factors that fit into a block: one launch an axis;
//   * longer ones, N = N1 N2: columns of length N2, rotated, then rows of length N1 (and those so again);
//   * others by Bluestein's convolution with a chirp;
//   * real lines of even length as complex ones of half the length.

#include <map>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "hlo_run/attribute.h"
#include "kernels/cuda/fft_body.h"

namespace hlo::cuda {

// Workspaces hold what is between columns and rows, between the transforms of a convolution, between axes,
// and half lines.
enum class FftPlace : uint8_t { kInput, kOutput, kSplitWork, kChirpWork, kAxisWork, kHalfWork };
inline constexpr int kFftWorkspaces = 4;

struct FftStep {
  // Where the tables lie among the constants; -1: not needed.
  struct Tables {
    int64_t roots = -1, chirp = -1, spectrum = -1, coarse = -1, fine = -1, half_roots = -1;
  };
  FftPlace from = FftPlace::kInput, to = FftPlace::kOutput;
  LaunchShape shape;
  bool wide = false;     // The radices 11 and 13 take part.
  bool is_half = false;  // FftHalfBody.
  Tables tables;
  FftArgs args;
  FftHalfArgs half;
};

struct FftPlan {
  bool is_double = false;
  std::vector<FftStep> steps;
  std::vector<std::byte> constants;
  int64_t work_bytes[kFftWorkspaces] = {};  // Each a multiple of 256.
  int64_t workspace_bytes() const;
};

// Of the last `length.size()` dimensions; nullopt for what is too large for the plans above. Nothing is to be
// done where the arrays are empty.
std::optional<FftPlan> PlanFft(FftType type, bool is_double, absl::Span<const int64_t> in_dims,
                               absl::Span<const int64_t> length);

// The same with the pointers of a run in the arguments of a step.
struct FftPointers {
  const void* input;
  void* output;
  void* workspace;
  const void* constants;
};
FftStep Bound(const FftPlan& plan, FftStep step, const FftPointers& pointers);

}  // namespace hlo::cuda
