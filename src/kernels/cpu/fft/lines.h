#pragma once
// Transforms of complex lines in memory: plans by length, and lines in lanes or one by one.

#include <algorithm>
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/fft/fft_lanes.h"
#include "kernels/cpu/fft/line_lanes.h"
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

// Lines of n complex elements in memory: line i begins at (i % inner) + (i / inner) * n * inner, and its
// elements have stride `inner`.
template <class C>
struct LineArray {
  C* data;
  int64_t n, inner;

  int64_t Start(int64_t i) const {
    return inner == 1 ? i * n : i % inner + i / inner * n * inner;  // Divisions are slow.
  }
};

// Lines to transform.
template <class R>
struct Lines {
  const std::complex<R>* from;
  std::complex<R>* to;  // May alias `from`.
  int64_t count, n, inner;

  LineArray<const std::complex<R>> source() const { return {from, n, inner}; }
  LineArray<std::complex<R>> target() const { return {to, n, inner}; }
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

// Loads lines into lanes, kLanes<R> lines at a time, calls run(LaneSpace), and stores the lanes, multiplied
// by `scale`.
template <class R, class Run>
void RunBunches(const LanePlan<R>& plan, int64_t count, const LineArray<const std::complex<R>>& from,
                const LineArray<std::complex<R>>& to, R scale, Run&& run) {
  constexpr int64_t kLane = kLanes<R>;
  ParallelFor(CeilDiv(count, kLane), LineNanoseconds<R>(plan.size(), count), [&](int64_t bunch) {
    const int64_t first = bunch * kLane, lanes = std::min(kLane, count - first);
    int64_t source[kLane], target[kLane];
    for (int64_t l = 0; l < lanes; ++l) {
      source[l] = from.Start(first + l);
      target[l] = to.Start(first + l);
    }
    const LaneSpace<R> space(plan);
    Gather(from.data, source, lanes, from.n, from.inner, space.re, space.im);
    run(space);
    Scatter(space.re, space.im, target, lanes, to.n, to.inner, scale, to.data);
  });
}

}  // namespace hlo::cpu
