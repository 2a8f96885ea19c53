#pragma once
// Transforms of complex lines in memory: plans by length, and lines in lanes or one by one.

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cpu/fft/fft_lanes.h"
#include "kernels/cpu/gemm/gemm_core.h"

namespace hlo::cpu {

// The cached plan of a transform of n elements.
template <class R>
struct LinePlan {
  int64_t n, first = 1, second = 1;  // n = first * second; first is 1 if the line is not split.
  std::unique_ptr<LanePlan<R>> whole;
  std::shared_ptr<const LinePlan> first_plan, second_plan;
  // Twiddle factors of the split in the order of their use: for each bunch of columns and each row, a vector
  // of real and one of imaginary parts.
  std::vector<Vector<R>> twiddles;
  // Bluestein's algorithm, for lines that are too long for lanes and have large prime factors.
  std::shared_ptr<const LinePlan> wide;
  std::vector<std::complex<R>> chirp, filter;
};

template <class R>
std::shared_ptr<const LinePlan<R>> PlanFor(int64_t n);

// Returns true if `count` lines of n elements are transformed in lanes, otherwise one by one.
template <class R>
bool RunsInLanes(int64_t n, int64_t count);

// The thread's scratch vectors for a transform in lanes. The arrays of parts have room for one more element.
template <class R>
struct LaneSpace {
  explicit LaneSpace(const LanePlan<R>& plan) {
    const int64_t size = plan.size() + kLanePadding;
    re = Scratch<Vector<R>>(ScratchSlot::kPanels, 2 * size + plan.work_size());
    im = re + size;
    work = im + size;
  }

  Vector<R>*re, *im, *work;
};

// Complex lines in memory: line i begins at (i % inner) + (i / inner) * n * inner, and its elements have
// stride `inner`.
template <class R>
struct Lines {
  const std::complex<R>* from;
  std::complex<R>* to;  // May alias `from`.
  int64_t count, n, inner;

  int64_t Start(int64_t i) const { return i % inner + i / inner * n * inner; }
};

// Transforms every line from one array to another, or in place. The inverse is divided by the length.
template <class R>
void TransformLines(const Lines<R>& lines, bool inverse);

// Returns the bytes that TransformLines allocates besides plans and the scratch vectors of threads.
template <class R>
int64_t LinesMemory(int64_t n, int64_t count);

// Estimates the time of `count` transforms of n elements.
template <class R>
double LineNanoseconds(int64_t n, int64_t count);

}  // namespace hlo::cpu
