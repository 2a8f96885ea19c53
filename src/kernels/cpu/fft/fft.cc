#include "kernels/cpu/fft/fft.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/fft/fft_lanes.h"
#include "kernels/cpu/fft/line_lanes.h"
#include "kernels/cpu/gemm/gemm_core.h"
#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::cpu {
namespace {

// Lines are split into two factors if they exceed the cache, or if there are too few of them to fill the
// lanes.
constexpr int64_t kLongestLanes = 2048, kShortestCut = 256, kLongestPart = 65536;

// Maximum number of elements of all cached plans.
constexpr int64_t kMaxCached = int64_t{1} << 22;

// The cached plan of a transform of n elements.
template <class R>
struct LinePlan {
  int64_t n, first = 1, second = 1;  // n = first * second; first is 1 if the line is not split.
  std::unique_ptr<LanePlan<R>> whole;
  std::shared_ptr<const LinePlan> first_plan, second_plan;
  std::vector<std::complex<R>> roots;  // Twiddle factors of the split: exp(-2 pi i k / n).
  // Bluestein's algorithm, for lines that are too long for lanes and have large prime factors.
  std::shared_ptr<const LinePlan> wide;
  std::vector<std::complex<R>> chirp, filter;
};

template <class R>
std::shared_ptr<const LinePlan<R>> PlanFor(int64_t n);

// The inverse transform is the forward transform with the parts of points swapped on both sides, which keeps
// the signs of zeros.
template <class R>
std::complex<R> Swapped(const std::complex<R>& x) {
  return {x.imag(), x.real()};
}

template <class R>
void TransformLine(const LinePlan<R>& plan, std::complex<R>* line, std::complex<R>* space);

// Returns the largest factor of n up to its square root if both factors fit into lanes, otherwise 1.
int64_t MiddleFactor(int64_t n) {
  int64_t f = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (f > 1 && n % f != 0) --f;
  return f < 8 || n / f > kLongestPart ? 1 : f;
}

template <class R>
std::shared_ptr<LinePlan<R>> MakePlan(int64_t n) {
  auto plan = std::make_shared<LinePlan<R>>();
  plan->n = n;
  const bool is_smooth = IsSmooth(n);
  const int64_t middle = is_smooth && n >= kShortestCut ? MiddleFactor(n) : 1;
  if (middle > 1) {
    plan->first = middle;
    plan->second = n / middle;
    plan->first_plan = PlanFor<R>(plan->first);
    plan->second_plan = PlanFor<R>(plan->second);
    plan->roots = UnitRoots<R>(n, n);
  }
  if (is_smooth || n <= kLongestLanes) {
    if (plan->first == 1 || n <= kLongestPart) plan->whole = std::make_unique<LanePlan<R>>(n);
    return plan;
  }
  int64_t size = 1;
  while (size < 2 * n - 1) size *= 2;
  plan->wide = PlanFor<R>(size);
  const std::vector<std::complex<R>> roots = UnitRoots<R>(2 * n, 2 * n);
  plan->filter.resize(static_cast<size_t>(size));
  for (int64_t k = 0, square = 0; k < n; ++k) {
    plan->chirp.push_back(roots[square]);
    for (int64_t at : {k, (size - k) % size})
      plan->filter[at] = std::conj(roots[square]) / static_cast<R>(size);
    square = (square + 2 * k + 1) % (2 * n);
  }
  std::vector<std::complex<R>> space(static_cast<size_t>(size));
  TransformLine(*plan->wide, plan->filter.data(), space.data());
  return plan;
}

// A cache of objects, indexed by length.
template <class Made>
class CacheByLength {
 public:
  template <class Make>
  std::shared_ptr<const Made> Get(int64_t n, Make&& make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = made_.find(n); found != made_.end()) return found->second;
    }
    std::shared_ptr<const Made> fresh = make(n);
    const std::lock_guard lock(mutex_);
    if (elements_ + n > kMaxCached) {
      made_.clear();
      elements_ = 0;
    }
    made_[n] = fresh;
    elements_ += n;
    return fresh;
  }

 private:
  std::mutex mutex_;
  std::map<int64_t, std::shared_ptr<const Made>> made_;
  int64_t elements_ = 0;
};

template <class R>
std::shared_ptr<const LinePlan<R>> PlanFor(int64_t n) {
  static CacheByLength<LinePlan<R>> plans;
  return plans.Get(n, MakePlan<R>);
}

// Returns exp(-2 pi i k / n) for k = 0, ..., n / 2.
template <class R>
std::shared_ptr<const std::vector<std::complex<R>>> HalfRoots(int64_t n) {
  using Roots = std::vector<std::complex<R>>;
  static CacheByLength<Roots> roots;
  return roots.Get(
      n, [](int64_t size) { return std::make_shared<const Roots>(UnitRoots<R>(size, size / 2 + 1)); });
}

// Complex lines in memory: line i begins at (i % inner) + (i / inner) * n * inner, and its elements have
// stride `inner`.
template <class R>
struct Lines {
  const std::complex<R>* from;
  std::complex<R>* to;  // May alias `from`.
  int64_t count, n, inner;

  int64_t Start(int64_t i) const { return i % inner + i / inner * n * inner; }
};

template <class R>
double LineNanoseconds(int64_t n, int64_t count) {
  const auto size = static_cast<double>(n) * static_cast<double>(count);
  return size * (std::log2(static_cast<double>(n) + 1) + 4) * 2 / kLanes<R>;
}

// Returns the thread's scratch vectors for a transform in lanes: re, im, work.
template <class R>
Vector<R>* LaneSpace(const LanePlan<R>& plan) {
  return Scratch<Vector<R>>(ScratchSlot::kPanels, 2 * plan.size() + plan.work_size());
}

// Transforms lines in lanes, kLanes<R> lines at a time.
template <class R>
void TransformLanes(const LanePlan<R>& plan, const Lines<R>& lines, bool inverse) {
  constexpr int64_t kLane = kLanes<R>;
  const R scale = inverse ? R(1) / static_cast<R>(lines.n) : R(1);
  ParallelFor(CeilDiv(lines.count, kLane), LineNanoseconds<R>(lines.n, lines.count), [&](int64_t bunch) {
    const int64_t first = bunch * kLane, count = std::min(kLane, lines.count - first);
    int64_t start[kLane];
    for (int64_t l = 0; l < count; ++l) start[l] = lines.Start(first + l);
    Vector<R>* re = LaneSpace(plan);
    Vector<R>*im = re + lines.n, *work = im + lines.n;
    Gather(lines.from, start, count, lines.n, lines.inner, re, im);
    plan.Run(inverse ? im : re, inverse ? re : im, work);
    Scatter(re, im, start, count, lines.n, lines.inner, scale, lines.to);
  });
}

// Transforms a dense line in place, forward, with n elements of scratch space. With n = f s and x as a matrix
// [f, s]:
//   X[k2 f + k1] = sum over j of (exp(-2 pi i j k1 / n) sum over i of x[i, j] w_f^(i k1)) w_s^(j k2).
template <class R>
void TransformSplit(const LinePlan<R>& plan, std::complex<R>* line, std::complex<R>* space) {
  constexpr int64_t kLane = kLanes<R>;
  const int64_t f = plan.first, s = plan.second;
  const LanePlan<R>&columns = *plan.first_plan->whole, &rows = *plan.second_plan->whole;
  ParallelFor(CeilDiv(s, kLane), LineNanoseconds<R>(f, s), [&](int64_t bunch) {
    const int64_t first = bunch * kLane, count = std::min(kLane, s - first);
    int64_t start[kLane];
    for (int64_t l = 0; l < count; ++l) start[l] = first + l;
    Vector<R>* re = LaneSpace(columns);
    Vector<R>*im = re + f, *work = im + f;
    Gather(line, start, count, f, s, re, im);
    columns.Run(re, im, work);
    for (int64_t k = 0; k < f; ++k) {
      R root_re[kLane] = {}, root_im[kLane] = {};
      for (int64_t l = 0; l < count; ++l) {
        const std::complex<R> root = plan.roots[k * (first + l)];
        root_re[l] = root.real();
        root_im[l] = root.imag();
      }
      const Vector<R> w_re = LoadVector(root_re), w_im = LoadVector(root_im), x_re = re[k], x_im = im[k];
      re[k] = x_re * w_re - x_im * w_im;
      im[k] = x_re * w_im + x_im * w_re;
    }
    Scatter(re, im, start, count, f, s, R(1), space);
  });
  ParallelFor(CeilDiv(f, kLane), LineNanoseconds<R>(s, f), [&](int64_t bunch) {
    const int64_t first = bunch * kLane, count = std::min(kLane, f - first);
    int64_t from[kLane], to[kLane];
    for (int64_t l = 0; l < count; ++l) {
      from[l] = (first + l) * s;
      to[l] = first + l;
    }
    Vector<R>* re = LaneSpace(rows);
    Vector<R>*im = re + s, *work = im + s;
    Gather(space, from, count, s, 1, re, im);
    rows.Run(re, im, work);
    Scatter(re, im, to, count, s, f, R(1), line);
  });
}

template <class R>
void TransformLine(const LinePlan<R>& plan, std::complex<R>* line, std::complex<R>* space) {
  if (plan.first > 1) return TransformSplit(plan, line, space);
  if (plan.whole) return TransformLanes(*plan.whole, Lines<R>{line, line, 1, plan.n, 1}, /*inverse=*/false);
  const int64_t size = plan.wide->n;
  CachedVector<std::complex<R>> wide(static_cast<size_t>(size), std::complex<R>()), wide_space(wide);
  for (int64_t k = 0; k < plan.n; ++k) wide[k] = line[k] * plan.chirp[k];
  TransformLine(*plan.wide, wide.data(), wide_space.data());
  for (int64_t k = 0; k < size; ++k) wide[k] = Swapped(wide[k] * plan.filter[k]);
  TransformLine(*plan.wide, wide.data(), wide_space.data());
  // A product with 0 may be -0; adding 0 makes it 0.
  for (int64_t k = 0; k < plan.n; ++k) line[k] = Swapped(wide[k]) * plan.chirp[k] + std::complex<R>();
}

// Transforms every line from one array to another, or in place.
template <class R>
void TransformLines(const Lines<R>& lines, bool inverse) {
  if (lines.count == 0 || lines.n == 0) return;
  const std::shared_ptr<const LinePlan<R>> plan = PlanFor<R>(lines.n);
  const bool is_cut = plan->first > 1 && (lines.n > kLongestLanes || lines.count < kLanes<R>);
  if (plan->whole && !is_cut) {
    TransformLanes(*plan->whole, lines, inverse);
    return;
  }
  CachedVector<std::byte> buffer(2 * lines.n * sizeof(std::complex<R>));
  auto* line = reinterpret_cast<std::complex<R>*>(buffer.data());
  const R scale = R(1) / static_cast<R>(lines.n);
  for (int64_t i = 0; i < lines.count; ++i) {
    const int64_t start = lines.Start(i);
    for (int64_t k = 0; k < lines.n; ++k) {
      const std::complex<R> x = lines.from[start + k * lines.inner];
      line[k] = inverse ? Swapped(x) : x;
    }
    TransformLine(*plan, line, line + lines.n);
    for (int64_t k = 0; k < lines.n; ++k)
      lines.to[start + k * lines.inner] = inverse ? Swapped(line[k]) * scale : line[k];
  }
}

// Transforms real lines of n elements to bins 0, ..., n / 2. A line of even length is transformed as a
// complex line of half the length:
//   with z[j] = x[2j] + i x[2j + 1], X[k] = (Z[k] + conj Z[h - k]) / 2 - i w^k (Z[k] - conj Z[h - k]) / 2.
template <class R>
void RealToBins(const R* from, int64_t count, int64_t n, std::complex<R>* to) {
  using C = std::complex<R>;
  const bool is_even = n % 2 == 0;
  const int64_t h = is_even ? n / 2 : n, bins = n / 2 + 1;
  CachedVector<std::byte> buffer(count * h * sizeof(C));
  C* z = reinterpret_cast<C*>(buffer.data());
  if (is_even) {
    TransformLines<R>({reinterpret_cast<const C*>(from), z, count, h, 1}, false);
  } else {
    std::copy_n(from, count * n, z);
    TransformLines<R>({z, z, count, h, 1}, false);
  }
  const auto kept = HalfRoots<R>(n);
  const std::vector<C>& roots = *kept;
  ParallelFor(count, static_cast<double>(count * bins) * 2, [&](int64_t i) {
    const C* line = z + i * h;
    C* out = to + i * bins;
    if (!is_even) {
      std::copy_n(line, bins, out);
      return;
    }
    for (int64_t k = 0; k < bins; ++k) {
      // A sum of halves does not overflow where the bin does not.
      const C a = line[k == h ? 0 : k] * R(0.5), b = std::conj(line[k == 0 ? 0 : h - k]) * R(0.5);
      const C even = a + b, odd = a - b, w = roots[k];
      // Adds -i w odd to even.
      const R re = w.real() * odd.real() - w.imag() * odd.imag(),
              im = w.real() * odd.imag() + w.imag() * odd.real();
      out[k] = C(even.real() + im, even.imag() - re);
    }
  });
}

// Transforms bins 0, ..., n / 2 of each line to n real numbers.
template <class R>
void BinsToReal(const std::complex<R>* from, int64_t count, int64_t n, R* to) {
  using C = std::complex<R>;
  const bool is_even = n % 2 == 0;
  const int64_t h = is_even ? n / 2 : n, bins = n / 2 + 1;
  CachedVector<std::byte> buffer(count * h * sizeof(C));
  C* z = reinterpret_cast<C*>(buffer.data());
  const auto kept = HalfRoots<R>(n);
  const std::vector<C>& roots = *kept;
  ParallelFor(count, static_cast<double>(count * bins) * 2, [&](int64_t i) {
    const C* line = from + i * bins;
    C* out = z + i * h;
    if (!is_even) {
      out[0] = line[0].real();
      for (int64_t k = 1; k < bins; ++k) {
        out[k] = line[k];
        out[n - k] = std::conj(line[k]);
      }
      return;
    }
    for (int64_t k = 0; k < h; ++k) {
      const C a = (k == 0 ? C(line[0].real()) : line[k]) * R(0.5);
      const C b = (k == 0 ? C(line[h].real()) : std::conj(line[h - k])) * R(0.5);
      const C even = a + b, half = a - b, w = std::conj(roots[k]);
      // Adds i w half to even.
      const R re = w.real() * half.real() - w.imag() * half.imag(),
              im = w.real() * half.imag() + w.imag() * half.real();
      out[k] = C(even.real() - im, even.imag() + re);
    }
  });
  TransformLines<R>({z, z, count, h, 1}, true);
  if (is_even) {
    std::copy_n(reinterpret_cast<const R*>(z), count * n, to);
  } else {
    for (int64_t i = 0; i < count * n; ++i) to[i] = z[i].real();
  }
}

// Transforms dimensions first, ..., last of `from` into `array`; further passes are in place.
template <class R>
void TransformDims(const std::complex<R>* from, std::complex<R>* array, absl::Span<const int64_t> dims,
                   int64_t first, int64_t last, bool inverse) {
  const int64_t elements = Product(dims);
  for (int64_t d = last; d >= first; --d) {
    int64_t inner = 1;
    for (size_t e = static_cast<size_t>(d) + 1; e < dims.size(); ++e) inner *= dims[e];
    TransformLines<R>({from, array, elements / dims[d], dims[d], inner}, inverse);
    from = array;
  }
  if (from != array) std::copy_n(from, elements, array);
}

template <class R>
void Transform(const DenseArray& input, FftType type, int64_t rank, void* out,
               absl::Span<const int64_t> out_dims) {
  using C = std::complex<R>;
  const auto last = static_cast<int64_t>(input.dims.size()) - 1, first = last - rank + 1;
  if (type == FftType::kFft || type == FftType::kIfft) {
    return TransformDims<R>(static_cast<const C*>(input.data), static_cast<C*>(out), input.dims, first, last,
                            type == FftType::kIfft);
  }
  const int64_t lines = Product(input.dims.first(static_cast<size_t>(last)));
  if (type == FftType::kRfft) {
    C* bins = static_cast<C*>(out);
    RealToBins<R>(static_cast<const R*>(input.data), lines, input.dims[last], bins);
    return TransformDims<R>(bins, bins, out_dims, first, last - 1, false);
  }
  const C* bins = static_cast<const C*>(input.data);
  CachedVector<std::byte> buffer;
  if (rank > 1) {
    buffer.resize(Product(input.dims) * sizeof(C));
    C* copy = reinterpret_cast<C*>(buffer.data());
    TransformDims<R>(bins, copy, input.dims, first, last - 1, true);
    bins = copy;
  }
  return BinsToReal<R>(bins, lines, out_dims[last], static_cast<R*>(out));
}

}  // namespace

void Fft(const DenseArray& input, FftType type, absl::Span<const int64_t> length, void* out,
         ElementType out_type, absl::Span<const int64_t> out_dims) {
  const int64_t out_bytes = Product(out_dims) * ByteCount(out_type);
  if (Product(input.dims) == 0 || out_bytes == 0) {
    std::fill_n(static_cast<std::byte*>(out), out_bytes, std::byte{});
    return;
  }
  if (length.empty()) {
    std::memcpy(out, input.data, static_cast<size_t>(out_bytes));
    return;
  }
  const auto rank = static_cast<int64_t>(length.size());
  if (ComponentType(out_type) == ElementType::kF64)
    return Transform<double>(input, type, rank, out, out_dims);
  return Transform<float>(input, type, rank, out, out_dims);
}

}  // namespace hlo::cpu
