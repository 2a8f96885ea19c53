#pragma once
// Builds the steps of a Fourier transform over lines of any length.

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kernels/cuda/fft/fft_plan.h"
#include "kernels/cuda/fft/fft_tables.h"

namespace hlo::cuda {

inline int WorkspaceOf(FftBuffer buffer) {
  return static_cast<int>(buffer) - static_cast<int>(FftBuffer::kSplitWork);
}

// Conversions at load and store, bounds and scale of a line.
struct FftEnds {
  uint32_t load = 0, store = 0;
  int64_t in_limit, out_limit;
  double scale = 1;
};

// The layout of lines (outer, inner): strides between lines and between points, in elements.
struct FftLines {
  int64_t outer = 1, inner = 1;
  int64_t in_outer = 0, in_inner = 0, out_outer = 0, out_inner = 0, in_stride = 1, out_stride = 1;
  int64_t count() const { return outer * inner; }
};

class FftPlanner {
 public:
  FftPlanner(bool is_double, int64_t shared_bytes) : shared_bytes_(shared_bytes) {
    plan_.is_double = is_double;
  }

  // True if one launch transforms contiguous lines of n points.
  bool IsOneLaunch(int64_t n) const;

  // Adds transforms of n points. Returns false if they are too large.
  bool AddTransform(int64_t n, const FftLines& lines, FftEnds ends, FftBuffer from, FftBuffer to);
  // Adds the conversion between complex lines of n points and the bins of real lines.
  void AddHalf(int64_t n, int64_t lines, bool to_bins, FftBuffer from, FftBuffer to);
  // Grows a workspace to at least `elements` complex elements.
  void Grow(FftBuffer buffer, int64_t elements);
  // Returns the offset of the constants w_(2n)^j for j = 0..n.
  int64_t HalfRoots(int64_t n);
  FftPlan& plan() { return plan_; }
  FftStep& last() { return plan_.steps.back(); }

 private:
  int64_t ElementBytes() const { return plan_.is_double ? 16 : 8; }
  int64_t Table(const char* kind, int64_t n, int64_t m, absl::FunctionRef<std::vector<LongComplex>()> make);
  int64_t Roots(int64_t n, int64_t count, int64_t step, const char* kind);
  // Creates the two-level table of the n-th roots of unity. Returns the number of index bits of the fine
  // table.
  uint32_t Rotations(int64_t n, FftStep::Tables* tables);

  bool AddSmooth(int64_t n, const FftLines& lines, const FftEnds& ends, FftBuffer from, FftBuffer to,
                 int64_t chirp, int64_t spectrum);
  // True if contiguous lines of n points have a kernel for their length.
  bool HasOwnKernel(int64_t n) const { return FindOwnKernel(FftAccess::kPoints, n).has_value(); }
  // Returns the launch of the kernel for lines of n points, without the grid.
  struct OwnKernel {
    uint32_t block_lines, threads;
    int64_t shared_bytes;
  };
  std::optional<OwnKernel> FindOwnKernel(FftAccess access, int64_t n) const;
  // Chooses the kernel for the length, if there is one that accesses memory as the step does.
  bool ChooseOwnKernel(FftStep& step, int64_t n, int64_t lines) const;
  bool AddBlocks(int64_t n, const FftLines& lines, const FftEnds& ends, FftBuffer from, FftBuffer to);
  // Four-step FFT of x[n1 + N1 n2]: transforms over n2, multiplication by w_N^(n1 k2), transforms over n1 to
  // X[k2 + N2 k1].
  bool AddSplit(int64_t n, const FftLines& lines, const FftEnds& ends, FftBuffer from, FftBuffer to);
  bool Finish(FftStep& step, int64_t n, int64_t lines);

  FftPlan plan_;
  int64_t shared_bytes_;
  std::map<std::tuple<std::string, int64_t, int64_t>, int64_t> tables_;
};

}  // namespace hlo::cuda
