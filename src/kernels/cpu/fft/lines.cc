#include "kernels/cpu/fft/lines.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/fft/cache_by_length.h"
#include "kernels/cpu/fft/line_lanes.h"
#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::cpu {
namespace {

// Lines are split into two factors if they exceed the cache, or if there are too few of them to fill the
// lanes.
constexpr int64_t kLongestLanes = 2048, kShortestCut = 256, kLongestPart = 65536;

// The inverse transform is the forward transform with the parts of points swapped on both sides, which keeps
// the signs of zeros.
template <class R>
std::complex<R> Swapped(const std::complex<R>& x) {
  return {x.imag(), x.real()};
}

// Transforms the line of plan.n elements with stride `step`, from one array to another or in place. The
// inverse is divided by plan.n.
template <class R>
void TransformLine(const LinePlan<R>& plan, const std::complex<R>* from, std::complex<R>* to, int64_t step,
                   bool inverse);

// Returns the largest factor of n up to its square root if both factors fit into lanes, otherwise 1.
int64_t MiddleFactor(int64_t n) {
  int64_t f = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (f > 1 && n % f != 0) --f;
  return f < 8 || n / f > kLongestPart ? 1 : f;
}

// Returns exp(-2 pi i k j / (f s)) for each bunch of columns j < s, each row k < f, and each lane.
template <class R>
std::vector<Vector<R>> SplitTwiddles(int64_t f, int64_t s) {
  const std::vector<std::complex<R>> roots = UnitRoots<R>(f * s, f * s);
  std::vector<Vector<R>> twiddles;
  twiddles.reserve(static_cast<size_t>(2 * f * CeilDiv(s, int64_t{kLanes<R>})));
  for (int64_t first = 0; first < s; first += kLanes<R>) {
    for (int64_t k = 0; k < f; ++k) {
      R re[kLanes<R>] = {}, im[kLanes<R>] = {};
      for (int64_t l = 0; l < std::min<int64_t>(kLanes<R>, s - first); ++l) {
        re[l] = roots[k * (first + l)].real();
        im[l] = roots[k * (first + l)].imag();
      }
      twiddles.push_back(LoadVector(re));
      twiddles.push_back(LoadVector(im));
    }
  }
  return twiddles;
}

// How a line of n elements is transformed.
struct LineForm {
  int64_t first;   // The factor of a split; 1 if the line is not split.
  bool has_lanes;  // Several lines can be transformed in lanes.
  int64_t wide;    // The length of the convolution of Bluestein's algorithm; 0 for other lines.
};
LineForm FormOf(int64_t n) {
  if (n < kShortestCut) return {.first = 1, .has_lanes = true, .wide = 0};
  const bool is_smooth = IsSmooth(n);
  const int64_t first = is_smooth ? MiddleFactor(n) : 1;
  if (is_smooth || n <= kLongestLanes) return {first, first == 1 || n <= kLongestPart, 0};
  int64_t wide = 1;
  while (wide < 2 * n - 1) wide *= 2;
  return {first, false, wide};
}

// Returns the bytes that the transform of one line allocates.
template <class R>
int64_t LineMemory(int64_t n) {
  const LineForm form = FormOf(n);
  constexpr int64_t kWidth = sizeof(std::complex<R>);
  if (form.wide > 0) return form.wide * kWidth + LineMemory<R>(form.wide);
  return form.first > 1 ? n * kWidth : 0;
}

// Returns true if lines that are transformed one by one have a thread each.
bool HasThreadPerLine(int64_t count) { return count >= ThreadCount(); }

template <class R>
std::shared_ptr<LinePlan<R>> MakePlan(int64_t n) {
  auto plan = std::make_shared<LinePlan<R>>();
  plan->n = n;
  const LineForm form = FormOf(n);
  if (form.first > 1) {
    plan->first = form.first;
    plan->second = n / form.first;
    plan->first_plan = PlanFor<R>(plan->first);
    plan->second_plan = PlanFor<R>(plan->second);
    plan->twiddles = SplitTwiddles<R>(plan->first, plan->second);
  }
  if (form.has_lanes) plan->whole = std::make_unique<LanePlan<R>>(n);
  if (form.wide == 0) return plan;
  const int64_t size = form.wide;
  plan->wide = PlanFor<R>(size);
  const std::vector<std::complex<R>> roots = UnitRoots<R>(2 * n, 2 * n);
  plan->filter.resize(static_cast<size_t>(size));
  for (int64_t k = 0, square = 0; k < n; ++k) {
    plan->chirp.push_back(roots[square]);
    for (int64_t at : {k, (size - k) % size})
      plan->filter[at] = std::conj(roots[square]) / static_cast<R>(size);
    square = (square + 2 * k + 1) % (2 * n);
  }
  TransformLine<R>(*plan->wide, plan->filter.data(), plan->filter.data(), 1, /*inverse=*/false);
  return plan;
}

template <class R>
void TransformLanes(const LanePlan<R>& plan, const Lines<R>& lines, bool inverse) {
  const R scale = inverse ? R(1) / static_cast<R>(lines.n) : R(1);
  RunBunches<R>(plan, lines.count, lines.source(), lines.target(), scale, [&](const LaneSpace<R>& space) {
    plan.Run(inverse ? space.im : space.re, inverse ? space.re : space.im, space.work);
  });
}

// Transforms a line that is split. With n = f s and x as a matrix [f, s]:
//   X[k2 f + k1] = sum over j of (exp(-2 pi i j k1 / n) sum over i of x[i, j] w_f^(i k1)) w_s^(j k2).
template <class R>
void TransformSplit(const LinePlan<R>& plan, const std::complex<R>* from, std::complex<R>* to, int64_t step,
                    bool inverse) {
  constexpr int64_t kLane = kLanes<R>;
  const int64_t f = plan.first, s = plan.second;
  const LanePlan<R>&columns = *plan.first_plan->whole, &rows = *plan.second_plan->whole;
  const R scale = inverse ? R(1) / static_cast<R>(plan.n) : R(1);
  CachedVector<std::byte> buffer(plan.n * sizeof(std::complex<R>));
  auto* space = reinterpret_cast<std::complex<R>*>(buffer.data());
  ParallelFor(CeilDiv(s, kLane), LineNanoseconds<R>(f, s), [&](int64_t bunch) {
    const int64_t first = bunch * kLane, count = std::min(kLane, s - first);
    int64_t source[kLane], start[kLane];
    for (int64_t l = 0; l < count; ++l) {
      start[l] = first + l;
      source[l] = start[l] * step;
    }
    auto [re, im, work] = LaneSpace<R>(columns);
    Gather(from, source, count, f, s * step, re, im);
    if (inverse) std::swap(re, im);
    columns.Run(re, im, work);
    const Vector<R>* twiddles = plan.twiddles.data() + 2 * bunch * f;
    for (int64_t k = 0; k < f; ++k) {
      const Vector<R> w_re = twiddles[2 * k], w_im = twiddles[2 * k + 1], x_re = re[k], x_im = im[k];
      re[k] = x_re * w_re - x_im * w_im;
      im[k] = x_re * w_im + x_im * w_re;
    }
    Scatter(re, im, start, count, f, s, R(1), space);
  });
  ParallelFor(CeilDiv(f, kLane), LineNanoseconds<R>(s, f), [&](int64_t bunch) {
    const int64_t first = bunch * kLane, count = std::min(kLane, f - first);
    int64_t start[kLane], target[kLane];
    for (int64_t l = 0; l < count; ++l) {
      start[l] = (first + l) * s;
      target[l] = (first + l) * step;
    }
    auto [re, im, work] = LaneSpace<R>(rows);
    Gather(space, start, count, s, 1, re, im);
    rows.Run(re, im, work);
    if (inverse) std::swap(re, im);
    Scatter(re, im, target, count, s, f * step, scale, to);
  });
}

// Transforms a line by Bluestein's algorithm.
template <class R>
void TransformChirped(const LinePlan<R>& plan, const std::complex<R>* from, std::complex<R>* to, int64_t step,
                      bool inverse) {
  const int64_t size = plan.wide->n;
  const R scale = inverse ? R(1) / static_cast<R>(plan.n) : R(1);
  CachedVector<std::complex<R>> wide(static_cast<size_t>(size), std::complex<R>());
  for (int64_t k = 0; k < plan.n; ++k) {
    const std::complex<R> x = from[k * step];
    wide[k] = (inverse ? Swapped(x) : x) * plan.chirp[k];
  }
  TransformLine<R>(*plan.wide, wide.data(), wide.data(), 1, /*inverse=*/false);
  for (int64_t k = 0; k < size; ++k) wide[k] = Swapped(wide[k] * plan.filter[k]);
  TransformLine<R>(*plan.wide, wide.data(), wide.data(), 1, /*inverse=*/false);
  for (int64_t k = 0; k < plan.n; ++k) {
    // A product with 0 may be -0; adding 0 makes it 0.
    const std::complex<R> x = Swapped(wide[k]) * plan.chirp[k] + std::complex<R>();
    to[k * step] = inverse ? Swapped(x) * scale : x;
  }
}

template <class R>
void TransformLine(const LinePlan<R>& plan, const std::complex<R>* from, std::complex<R>* to, int64_t step,
                   bool inverse) {
  if (plan.first > 1) return TransformSplit(plan, from, to, step, inverse);
  if (plan.whole) return TransformLanes(*plan.whole, Lines<R>{from, to, 1, plan.n, step}, inverse);
  TransformChirped(plan, from, to, step, inverse);
}

}  // namespace

template <class R>
double LineNanoseconds(int64_t n, int64_t count) {
  const auto size = static_cast<double>(n) * static_cast<double>(count);
  return size * (std::log2(static_cast<double>(n) + 1) + 4) * 2 / kLanes<R>;
}

template <class R>
std::shared_ptr<const LinePlan<R>> PlanFor(int64_t n) {
  static CacheByLength<LinePlan<R>> plans;
  return plans.Get(n, MakePlan<R>);
}

template <class R>
bool RunsInLanes(int64_t n, int64_t count) {
  const LineForm form = FormOf(n);
  if (!form.has_lanes || form.first == 1) return form.has_lanes;
  if (n > kLongestLanes) return false;
  // The better use of the lanes is faster.
  const auto padding = [](int64_t size) {
    return static_cast<double>(RoundUp(size, kLanes<R>)) / static_cast<double>(size);
  };
  return padding(count) <= 1.05 * (padding(form.first) + padding(n / form.first)) / 2;
}

template <class R>
int64_t LinesMemory(int64_t n, int64_t count) {
  if (RunsInLanes<R>(n, count)) return 0;
  return LineMemory<R>(n) * (HasThreadPerLine(count) ? ThreadCount() : 1);
}

template <class R>
void TransformLines(const Lines<R>& lines, bool inverse) {
  if (lines.count == 0 || lines.n == 0) return;
  const std::shared_ptr<const LinePlan<R>> plan = PlanFor<R>(lines.n);
  if (RunsInLanes<R>(lines.n, lines.count)) return TransformLanes(*plan->whole, lines, inverse);
  const auto transform = [&](int64_t i) {
    const int64_t start = lines.source().Start(i);
    TransformLine(*plan, lines.from + start, lines.to + start, lines.inner, inverse);
  };
  if (HasThreadPerLine(lines.count)) {
    ParallelFor(lines.count, LineNanoseconds<R>(lines.n, lines.count), transform);
  } else {
    for (int64_t i = 0; i < lines.count; ++i) transform(i);
  }
}

#define HLO_REAL(R)                                                \
  template std::shared_ptr<const LinePlan<R>> PlanFor<R>(int64_t); \
  template bool RunsInLanes<R>(int64_t, int64_t);                  \
  template int64_t LinesMemory<R>(int64_t, int64_t);               \
  template void TransformLines<R>(const Lines<R>&, bool);          \
  template double LineNanoseconds<R>(int64_t, int64_t);
HLO_REAL(float)
HLO_REAL(double)
#undef HLO_REAL

}  // namespace hlo::cpu
