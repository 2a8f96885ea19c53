#include "kernels/cpu/window/slide_lines.h"

#include <algorithm>
#include <complex>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "base/vectorize.h"
#include "kernels/cpu/elementwise/fold_ops.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/memory/thread_memory.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kChains = 8;        // Independent scans hide the latency.
constexpr int64_t kPiece = 32 << 10;  // Elements per piece of a long line.
constexpr int64_t kLinePieces = 16;   // Approximate number of pieces if there are few lines.

template <class F, class T>
struct Loops {
  static void Combine(int64_t n, const T* a, const T* b, T* to) {
    const F f;
    HLO_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) to[i] = f(a[i], b[i]);
  }
  [[gnu::noinline]] static void CombineWith(T a, int64_t n, const T* b, T* to) {
    const F f;
    HLO_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) to[i] = f(a, b[i]);
  }

  // Scans kChains lines that begin `distance` apart: y[i] = x[0] op ... op x[i], or if kBackwards y[i] = x[n
  // - 1] op ... op x[i].
  template <bool kBackwards>
  static void RunChains(const T* x, T* y, int64_t distance, int64_t n) {
    const F f;
    const int64_t start = kBackwards ? n - 1 : 0, step = kBackwards ? -1 : 1;
    T run[kChains];
    for (int64_t k = 0; k < kChains; ++k) y[k * distance + start] = run[k] = x[k * distance + start];
    for (int64_t i = 1, at = start + step; i < n; ++i, at += step) {
#pragma GCC unroll 8
      for (int64_t k = 0; k < kChains; ++k) y[k * distance + at] = run[k] = f(run[k], x[k * distance + at]);
    }
  }

  // Scans one line in the same way.
  template <bool kBackwards>
  [[gnu::noinline]] static void RunLine(const T* x, T* y, int64_t n) {
    constexpr int64_t kShort = 16 * kChains;
    const F f;
    const int64_t part = n >= kShort ? n / kChains : 0, chained = kChains * part;
    if (part > 0) {
      // The remainder is processed last.
      const int64_t from = kBackwards ? n - chained : 0;
      RunChains<kBackwards>(x + from, y + from, part, part);
      for (int64_t k = 1; k < kChains; ++k) {
        T* const to = y + from + (kBackwards ? kChains - 1 - k : k) * part;
        CombineWith(kBackwards ? to[part] : to[-1], part, to, to);
      }
    }
    for (int64_t i = chained; i < n; ++i) {
      const int64_t at = kBackwards ? n - 1 - i : i;
      y[at] = i == 0 ? x[at] : f(y[kBackwards ? at + 1 : at - 1], x[at]);
    }
  }

  // Scans each block of a line separately.
  template <bool kBackwards>
  [[gnu::noinline]] static void RunBlocks(const T* x, T* y, int64_t n, int64_t block) {
    int64_t i = 0;
    for (; i + kChains * block <= n; i += kChains * block) RunChains<kBackwards>(x + i, y + i, block, block);
    for (; i < n; i += block) RunLine<kBackwards>(x + i, y + i, std::min(block, n - i));
  }

  [[gnu::noinline]] static T Fold(const T* x, int64_t n) {
    constexpr int64_t kPartials = 32;
    const F f;
    T partial[kPartials];
    int64_t width = std::min(n, kPartials);
    std::copy_n(x, width, partial);
    int64_t i = kPartials;
    for (; i + kPartials <= n; i += kPartials) Combine(kPartials, partial, x + i, partial);
    for (int64_t k = 0; i + k < n; ++k) partial[k] = f(partial[k], x[i + k]);
    for (; width > 1; width = (width + 1) / 2)
      Combine(width / 2, partial, partial + (width + 1) / 2, partial);
    return partial[0];
  }

  // Scans a long line in parallel: reduces its pieces, scans the results, then scans the pieces. `start`, if
  // not nullptr, precedes all elements.
  template <bool kBackwards>
  [[gnu::noinline]] static void RunLongLine(const T* x, T* y, int64_t n, const T* start = nullptr) {
    const F f;
    const int64_t pieces = CeilDiv(n, kPiece);
    const auto size = [&](int64_t p) { return std::min(kPiece, n - p * kPiece); };
    const auto nanoseconds = static_cast<double>(n);
    CachedVector<T> carry(pieces);
    ParallelFor(pieces, nanoseconds, [&](int64_t p) { carry[p] = Fold(x + p * kPiece, size(p)); });
    T& first = carry[kBackwards ? pieces - 1 : 0];
    if (start != nullptr) first = f(*start, first);
    for (int64_t p = 1; p < pieces; ++p) {
      const int64_t at = kBackwards ? pieces - 1 - p : p;
      carry[at] = f(carry[kBackwards ? at + 1 : at - 1], carry[at]);
    }
    ParallelFor(pieces, nanoseconds, [&](int64_t p) {
      T* to = y + p * kPiece;
      RunLine<kBackwards>(x + p * kPiece, to, size(p));
      const int64_t before = kBackwards ? p + 1 : p - 1;
      if (before >= 0 && before < pieces)
        CombineWith(carry[before], size(p), to, to);
      else if (start != nullptr)
        CombineWith(*start, size(p), to, to);
    });
  }

  // Computes outputs [begin, end) of a line into result[0], .... before[i] and after[i] are the prefix and
  // suffix results of base element origin + i.
  [[gnu::noinline]] static void Outputs(const SlidingWindow& window, int64_t begin, int64_t end,
                                        int64_t origin, const T* before, const T* after, T* result) {
    const F f;
    const int64_t size = window.size, n = window.base_size;
    int64_t o = begin;
    if (window.stride == 1) {
      // Windows that begin at the first element or before it, and of those the ones that end before the last.
      const int64_t count = std::clamp<int64_t>(window.low + 1 - begin, 0, end - begin);
      const int64_t last = window.First(begin) + size - 1, whole = std::clamp<int64_t>(n - last, 0, count);
      if (whole > 0) result = std::copy_n(before + (last - origin), whole, result);
      if (whole < count) result = std::fill_n(result, count - whole, before[n - 1 - origin]);
      o += count;
    }
    for (; o < end && window.First(o) <= 0; ++o) *result++ = before[window.Last(o) - origin];
    while (o < end) {
      const int64_t first = window.First(o), next_block = (first / size + 1) * size;
      if (first % size == 0 || next_block >= n) {
        *result++ = after[first - origin];
        ++o;
        continue;
      }
      // The outputs up to the end of the block.
      const int64_t count = std::min(end - o, CeilDiv(next_block - first, window.stride));
      if (window.stride == 1) {
        const int64_t whole = std::clamp<int64_t>(n - size - first + 1, 0, count);
        const T* from = after + (first - origin);
        Combine(whole, from, before + (first + size - 1 - origin), result);
        if (whole < count) CombineWith(before[n - 1 - origin], count - whole, from + whole, result + whole);
      } else {
        for (int64_t i = 0; i < count; ++i)
          result[i] = f(after[window.First(o + i) - origin], before[window.Last(o + i) - origin]);
      }
      o += count;
      result += count;
    }
  }
};

// Slides windows along contiguous lines.
template <class F, class T>
class LineSlider {
 public:
  LineSlider(const WindowDim& dim, const SlideArrays& arrays)
      : window_(dim, arrays.base_size), arrays_(arrays) {}

  void Run() const {
    const int64_t n = arrays_.base_size, results = arrays_.result_size, size = window_.size;
    const double nanoseconds = 2.0 * static_cast<double>(arrays_.outer * (n + results));
    // The number of outputs per part is large compared with the number of elements that two adjacent parts
    // share.
    const int64_t per_line = CeilDiv(kLinePieces, arrays_.outer);
    const int64_t length =
        std::max({results / per_line + 1, 8 * std::min(size, n) / window_.stride + 1, kPiece / 8});
    if (size >= n || length >= results) {
      ParallelFor(arrays_.outer, nanoseconds, [&](int64_t line) { WholeLine(line); });
      return;
    }
    const int64_t parts = CeilDiv(results, length);
    ParallelFor(arrays_.outer * parts, nanoseconds, [&](int64_t i) {
      const int64_t begin = i % parts * length;
      Part(i / parts, begin, std::min(results, begin + length));
    });
  }

 private:
  using Loop = Loops<F, T>;
  const T* base(int64_t line) const { return static_cast<const T*>(arrays_.base) + line * arrays_.base_size; }
  T* result(int64_t line) const { return static_cast<T*>(arrays_.result) + line * arrays_.result_size; }

  void Part(int64_t line, int64_t begin, int64_t end) const {
    static thread_local ThreadMemory memory;
    const int64_t first = std::max<int64_t>(window_.First(begin), 0) / window_.size * window_.size;
    const int64_t n = window_.Last(end - 1) + 1 - first;
    T* before = reinterpret_cast<T*>(memory.Reserve(2 * n * static_cast<int64_t>(sizeof(T))));
    T* after = before + n;
    Loop::template RunBlocks<false>(base(line) + first, before, n, window_.size);
    if (window_.First(end - 1) > 0)
      Loop::template RunBlocks<true>(base(line) + first, after, n, window_.size);
    Finish(line, begin, end, first, before, after);
  }

  void WholeLine(int64_t line) const {
    const int64_t n = arrays_.base_size, results = arrays_.result_size;
    const bool needs_after = window_.First(results - 1) > 0, needs_before = NeedsBefore();
    CachedVector<T> before, after;
    const auto run = [&]<bool kBackwards>(CachedVector<T>& to) {
      to.resize(n);
      if (window_.size >= n)
        Loop::template RunLongLine<kBackwards>(base(line), to.data(), n);
      else
        Loop::template RunBlocks<kBackwards>(base(line), to.data(), n, window_.size);
    };
    if (needs_before) run.template operator()<false>(before);
    if (needs_after) run.template operator()<true>(after);
    const int64_t pieces = CeilDiv(results, kPiece);
    ParallelFor(pieces, 0.5 * static_cast<double>(results), [&](int64_t p) {
      Finish(line, p * kPiece, std::min(results, (p + 1) * kPiece), 0, before.data(), after.data());
    });
  }
  bool NeedsBefore() const { return window_.First(0) <= 0 || window_.size < window_.base_size; }

  void Finish(int64_t line, int64_t begin, int64_t end, int64_t origin, const T* before,
              const T* after) const {
    T* to = result(line) + begin;
    Loop::Outputs(window_, begin, end, origin, before, after, to);
    if (arrays_.init != nullptr) Loop::CombineWith(*static_cast<const T*>(arrays_.init), end - begin, to, to);
  }

  SlidingWindow window_;
  const SlideArrays& arrays_;
};

template <class F, class T>
void SlideAlongLine(const WindowDim& dim, const SlideArrays& arrays) {
  LineSlider<F, T>(dim, arrays).Run();
}

template <class F, class T>
void Run(int64_t length, bool backwards, const void* in, void* out, void* carry) {
  if (length == 0) return;
  const T* x = static_cast<const T*>(in);
  T *y = static_cast<T*>(out), *start = static_cast<T*>(carry);
  if (backwards)
    Loops<F, T>::template RunLongLine<true>(x, y, length, start);
  else
    Loops<F, T>::template RunLongLine<false>(x, y, length, start);
  *start = y[backwards ? 0 : length - 1];
}

template <class F, class T>
constexpr LineLoops kLoopsOf = {&SlideAlongLine<F, T>, &Run<F, T>};

// Signed and unsigned integers differ only in their order.
template <class T>
LineLoops OfNumbers(Opcode opcode) {
  LineLoops found;
  VisitFoldOp<T>(opcode, [&]<class F>() { found = kLoopsOf<F, T>; });
  return found;
}
template <class T>
LineLoops OfOrder(Opcode opcode) {
  if (opcode == Opcode::kMaximum) return kLoopsOf<scalar::Maximum, T>;
  if (opcode == Opcode::kMinimum) return kLoopsOf<scalar::Minimum, T>;
  return OfNumbers<std::make_unsigned_t<T>>(opcode);
}

}  // namespace

LineLoops FindLineLoops(Opcode opcode, ComputeType compute_type) {
  switch (compute_type) {
    case ComputeType::kPred:  // A sum of pred is a disjunction.
      return OfNumbers<uint8_t>(opcode == Opcode::kAdd ? Opcode::kOr : opcode);
    case ComputeType::kS8:
      return OfOrder<int8_t>(opcode);
    case ComputeType::kU8:
      return OfNumbers<uint8_t>(opcode);
    case ComputeType::kS16:
      return OfOrder<int16_t>(opcode);
    case ComputeType::kU16:
      return OfNumbers<uint16_t>(opcode);
    case ComputeType::kF32:
      return OfNumbers<float>(opcode);
    case ComputeType::kF64:
      return OfNumbers<double>(opcode);
    case ComputeType::kS32:
      return OfOrder<int32_t>(opcode);
    case ComputeType::kS64:
      return OfOrder<int64_t>(opcode);
    case ComputeType::kU32:
      return OfNumbers<uint32_t>(opcode);
    case ComputeType::kU64:
      return OfNumbers<uint64_t>(opcode);
    case ComputeType::kC64:
      return OfNumbers<std::complex<float>>(opcode);
    case ComputeType::kC128:
      return OfNumbers<std::complex<double>>(opcode);
  }
  return {};
}

}  // namespace hlo::cpu
