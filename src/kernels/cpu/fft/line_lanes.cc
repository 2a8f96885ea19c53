#include "kernels/cpu/fft/line_lanes.h"

#include <algorithm>
#include <utility>

namespace hlo::cpu {
namespace {

// Returns true if the lines begin at consecutive elements.
bool AreNeighbours(const int64_t* start, int64_t count) {
  bool are = true;
  for (int64_t l = 1; l < count && are; ++l) are = start[l] == start[0] + l;
  return are;
}

template <class R>
const R* Parts(const std::complex<R>* x) {
  return reinterpret_cast<const R*>(x);
}
template <class R>
R* Parts(std::complex<R>* x) {
  return reinterpret_cast<R*>(x);
}

// Separate two vectors of complex numbers into real and imaginary parts, and join them.
template <class R, size_t... kLane>
[[gnu::always_inline]] inline void Separate(Vector<R> a, Vector<R> b, Vector<R>* re, Vector<R>* im,
                                            std::index_sequence<kLane...>) {
  *re = __builtin_shufflevector(a, b, static_cast<int>(2 * kLane)...);
  *im = __builtin_shufflevector(a, b, static_cast<int>(2 * kLane + 1)...);
}
template <class R, size_t... kLane>
[[gnu::always_inline]] inline void Join(Vector<R> re, Vector<R> im, Vector<R>* a, Vector<R>* b,
                                        std::index_sequence<kLane...>) {
  constexpr int n = sizeof...(kLane);
  *a = __builtin_shufflevector(re, im, static_cast<int>(kLane / 2 + kLane % 2 * n)...);
  *b = __builtin_shufflevector(re, im, static_cast<int>(n / 2 + kLane / 2 + kLane % 2 * n)...);
}

// The prefetch distance in rows. Hardware prefetchers miss rows with a large stride.
constexpr int64_t kRowsAhead = 8;

// The number of complex elements per vector, and thus the width of a register tile.
template <class R>
constexpr int kAtOnce = kLanes<R> / 2;

template <class R>
[[gnu::noinline]] int64_t GatherSquares(const std::complex<R>* from, const int64_t* start, int64_t count,
                                        int64_t n, Vector<R>* re, Vector<R>* im) {
  int64_t k = 0;
  for (; k + kAtOnce<R> <= n; k += kAtOnce<R>) {
    Vector<R> rows[kLanes<R>];
#pragma GCC unroll 16
    for (int l = 0; l < kLanes<R>; ++l)
      rows[l] = l < count ? LoadVector(Parts(from + start[l] + k)) : Vector<R>{};
    Transpose<R>(rows);
#pragma GCC unroll 8
    for (int j = 0; j < kAtOnce<R>; ++j) {
      re[k + j] = rows[2 * j];
      im[k + j] = rows[2 * j + 1];
    }
  }
  return k;
}

template <class R>
[[gnu::noinline]] int64_t ScatterSquares(const Vector<R>* re, const Vector<R>* im, const int64_t* start,
                                         int64_t count, int64_t n, R scale, std::complex<R>* to) {
  int64_t k = 0;
  for (; k + kAtOnce<R> <= n; k += kAtOnce<R>) {
    Vector<R> rows[kLanes<R>];
#pragma GCC unroll 8
    for (int j = 0; j < kAtOnce<R>; ++j) {
      rows[2 * j] = re[k + j] * scale;
      rows[2 * j + 1] = im[k + j] * scale;
    }
    Transpose<R>(rows);
#pragma GCC unroll 16
    for (int l = 0; l < kLanes<R>; ++l) {
      if (l < count) StoreVector(Parts(to + start[l] + k), rows[l]);
    }
  }
  return k;
}

// Gather and scatter `count` lines that begin at consecutive elements; with kAll, as many as there are lanes.
template <bool kAll, class R>
void GatherNeighbours(const std::complex<R>* from, int count, int64_t n, int64_t step, Vector<R>* re,
                      Vector<R>* im) {
  const int low = std::min(2 * count, kLanes<R>), high = 2 * count - low;
  const auto load = [](const R* x, int size) { return kAll ? LoadVector(x) : LoadFirst(x, size); };
  for (int64_t k = 0; k < n; ++k) {
    const R* x = Parts(from + k * step);
    __builtin_prefetch(x + 2 * kRowsAhead * step);
    __builtin_prefetch(x + 2 * kRowsAhead * step + low);
    Separate<R>(load(x, low), load(x + low, high), re + k, im + k, std::make_index_sequence<kLanes<R>>());
  }
}
template <bool kAll, class R>
void ScatterNeighbours(const Vector<R>* re, const Vector<R>* im, int count, int64_t n, int64_t step, R scale,
                       std::complex<R>* to) {
  const int low = std::min(2 * count, kLanes<R>), high = 2 * count - low;
  const auto store = [](R* x, Vector<R> v, int size) { kAll ? StoreVector(x, v) : StoreFirst(x, v, size); };
  for (int64_t k = 0; k < n; ++k) {
    R* x = Parts(to + k * step);
    __builtin_prefetch(x + 2 * kRowsAhead * step, 1);
    __builtin_prefetch(x + 2 * kRowsAhead * step + low, 1);
    Vector<R> a, b;
    Join<R>(re[k] * scale, im[k] * scale, &a, &b, std::make_index_sequence<kLanes<R>>());
    store(x, a, low);
    store(x + low, b, high);
  }
}

}  // namespace

template <class R>
void Gather(const std::complex<R>* from, const int64_t* start, int64_t count, int64_t n, int64_t step,
            Vector<R>* re, Vector<R>* im) {
  constexpr int kLane = kLanes<R>;
  R* to_re = reinterpret_cast<R*>(re);
  R* to_im = reinterpret_cast<R*>(im);
  if (count > 1 && AreNeighbours(start, count)) {
    const auto gather = count == kLane ? &GatherNeighbours<true, R> : &GatherNeighbours<false, R>;
    return gather(from + start[0], static_cast<int>(count), n, step, re, im);
  }
  const int64_t done = step == 1 ? GatherSquares(from, start, count, n, re, im) : 0;
  for (int64_t k = done; k < n; ++k) {
    re[k] = im[k] = Vector<R>{};
    for (int64_t l = 0; l < count; ++l) {
      const R* x = Parts(from + start[l] + k * step);
      to_re[k * kLane + l] = x[0];
      to_im[k * kLane + l] = x[1];
    }
  }
}

template <class R>
void Scatter(const Vector<R>* re, const Vector<R>* im, const int64_t* start, int64_t count, int64_t n,
             int64_t step, R scale, std::complex<R>* to) {
  constexpr int kLane = kLanes<R>;
  const R* from_re = reinterpret_cast<const R*>(re);
  const R* from_im = reinterpret_cast<const R*>(im);
  if (count > 1 && AreNeighbours(start, count)) {
    const auto scatter = count == kLane ? &ScatterNeighbours<true, R> : &ScatterNeighbours<false, R>;
    return scatter(re, im, static_cast<int>(count), n, step, scale, to + start[0]);
  }
  const int64_t done = step == 1 ? ScatterSquares(re, im, start, count, n, scale, to) : 0;
  for (int64_t k = done; k < n; ++k) {
    for (int64_t l = 0; l < count; ++l) {
      R* x = Parts(to + start[l] + k * step);
      x[0] = from_re[k * kLane + l] * scale;
      x[1] = from_im[k * kLane + l] * scale;
    }
  }
}

#define HLO_REAL(R)                                                                                          \
  template void Gather<R>(const std::complex<R>*, const int64_t*, int64_t, int64_t, int64_t, Vector<R>*,     \
                          Vector<R>*);                                                                       \
  template void Scatter<R>(const Vector<R>*, const Vector<R>*, const int64_t*, int64_t, int64_t, int64_t, R, \
                           std::complex<R>*);
HLO_REAL(float)
HLO_REAL(double)
#undef HLO_REAL

}  // namespace hlo::cpu
