#include "kernels/cpu/gemm/gemm_kernels.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "kernels/cpu/gemm/tile.h"

namespace hlo::cpu {
namespace {

// Prefetches a tile of the result into the given cache level.
template <int kLevel, int kRows, int kColumns, class T>
[[gnu::always_inline]] inline void Prefetch(const T* c, int64_t ld) {
  asm("" : "+r"(ld));  // The compiler would keep the addresses of both prefetches on the stack.
  constexpr int kLine = 64 / sizeof(T);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    const T* row = c + i * ld;
#pragma GCC unroll 2
    for (int j = 0; j < kColumns; j += kLine) __builtin_prefetch(row + j, kLevel == 1, 4 - kLevel);
    __builtin_prefetch(row + kColumns - 1, kLevel == 1, 4 - kLevel);  // The row may span two cache lines.
  }
}
// The number of terms before the last at which the result is prefetched into L1. If prefetched earlier, rows
// at power-of-two strides are evicted by the panels.
constexpr int64_t kLateTerms = 96;

// The micro-kernel: c[i, j] = or += sum over k of a[k, i] * b[k, j] for kRows rows, kVectors column vectors.
template <class T, Terms kTerms, int kRows, int kVectors, bool kIsWhole, bool kInPlace>
void RealKernel(const Tile<T>& operands) {
  const Tile<T> tile = operands;  // A copy, which the stores of vectors do not alias.
  constexpr int kLane = kLanes<T>;
  Vector<T> sums[kRows + kMoreRows<kTerms>][kVectors] = {};
  RowCursor<T, kRows, kInPlace> a(tile);
  const T* b = tile.b;
  const int64_t early = std::max<int64_t>(0, tile.k_count - kLateTerms);
  if (early > 0) {
    Prefetch<2, kRows, kVectors * kLane>(tile.c, tile.ld);
    AddTerms<T, kTerms, kRows + kMoreRows<kTerms>, kVectors, kIsWhole>(early, a, b, tile, sums);
  }
  Prefetch<1, kRows, kVectors * kLane>(tile.c, tile.ld);
  AddTerms<T, kTerms, kRows + kMoreRows<kTerms>, kVectors, kIsWhole>(tile.k_count - early, a, b, tile, sums);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kMoreRows<kTerms> == 1) sums[i][v] -= sums[kRows][v];
      StoreColumns<T, kVectors, kIsWhole>(tile, i, v, sums[i][v]);
    }
  }
}

// Multiplies two packed row panels with one column vector; a narrow result leaves registers for both.
template <class T, Terms kTerms>
void NarrowKernel(const Tile<T>& operands, const T* lower) {
  const Tile<T> tile = operands;
  constexpr int kRows = kPanelRows<T>;
  const T *a = tile.a, *b = tile.b;
  Prefetch<1, 2 * kRows, kLanes<T>>(tile.c, tile.ld);
  Vector<T> sums[2][kRows] = {};
  for (int64_t k = 0; k < tile.k_count; ++k) {
    const Vector<T> row = LoadColumns<T, 1, false>(b, 0, tile.loaded);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
      sums[0][i] = MultiplyAdd<T, kTerms>(sums[0][i], BroadcastTerm<T, kTerms>(a + i), row);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
      sums[1][i] = MultiplyAdd<T, kTerms>(sums[1][i], BroadcastTerm<T, kTerms>(lower + i), row);
    a += kRows;
    lower += kRows;
    b += tile.b_k_stride;
  }
#pragma GCC unroll 2
  for (int p = 0; p < 2; ++p) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) StoreColumns<T, 1, false>(tile, p * kRows + i, 0, sums[p][i]);
  }
}

// RealKernel for complex numbers, which are packed. Each row of b holds real parts, then imaginary parts.
template <class T, int kRows>
void ComplexKernel(const Tile<T>& tile) {
  using R = Part<T>;
  constexpr int kLane = kLanes<R>;
  static_assert(kPanelColumns<T> == kLane);
  Vector<R> re[kRows] = {}, im[kRows] = {};
  const R* from_a = reinterpret_cast<const R*>(tile.a);
  const R* from_b = reinterpret_cast<const R*>(tile.b);
#pragma GCC unroll 2
  for (int64_t k = 0; k < tile.k_count; ++k) {
    const Vector<R> b_re = LoadVector(from_b), b_im = LoadVector(from_b + kLane);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vector<R> a_re = Broadcast(from_a[2 * i]), a_im = Broadcast(from_a[2 * i + 1]);
      re[i] += a_re * b_re;
      re[i] -= a_im * b_im;
      im[i] += a_re * b_im;
      im[i] += a_im * b_re;
    }
    from_a += 2 * kPanelRows<T>;
    from_b += 2 * kLane;
  }
  for (int i = 0; i < kRows; ++i) {
    T* to = tile.c + i * tile.ld;
    for (int j = 0; j < tile.last; ++j) {
      const T sum(re[i][j], im[i][j]);
      to[j] = tile.add ? to[j] + sum : sum;
    }
  }
}

template <class T>
using Kernel = void (*)(const Tile<T>&);

// Micro-kernels by the number of rows and vectors of columns, the last of which is full if `is_whole`.
template <class T, Terms kTerms>
class Kernels {
 public:
  static const Kernels& Get() {
    static const Kernels kernels;
    return kernels;
  }
  // Returns the kernels by number of rows minus one.
  const Kernel<T>* Find(int64_t vectors, bool is_whole, bool in_place) const {
    return by_rows_[in_place ? 1 : 0][is_whole ? 1 : 0][vectors - 1];
  }

 private:
  Kernels() { Fill<1>(); }
  template <int kRows>
  void Fill() {
    if constexpr (kComplex<T>) {
      by_rows_[0][0][0][kRows - 1] = by_rows_[0][1][0][kRows - 1] = ComplexKernel<T, kRows>;
    } else {
      FillVectors<kRows, 1>();
      FillVectors<kRows, 2>();
    }
    if constexpr (kRows < kPanelRows<T>) Fill<kRows + 1>();
  }
  template <int kRows, int kVectors>
  void FillVectors() {
    by_rows_[0][0][kVectors - 1][kRows - 1] = RealKernel<T, kTerms, kRows, kVectors, false, false>;
    by_rows_[0][1][kVectors - 1][kRows - 1] = RealKernel<T, kTerms, kRows, kVectors, true, false>;
    if constexpr (kReadsRowsInPlace<T, kTerms>) {
      by_rows_[1][0][kVectors - 1][kRows - 1] = RealKernel<T, kTerms, kRows, kVectors, false, true>;
      by_rows_[1][1][kVectors - 1][kRows - 1] = RealKernel<T, kTerms, kRows, kVectors, true, true>;
    }
  }

  Kernel<T> by_rows_[2][2][2][kPanelRows<T>] = {};
};

}  // namespace

template <class T, Terms kTerms>
void MultiplyPanelPairs(const PanelProduct<T>& p, T* to, int64_t ld, bool add) {
  constexpr int kRows = kPanelRows<T>, kColumns = kPanelColumns<T>, kLane = kLanes<Part<T>>;
  const bool in_place = !p.a.is_packed;
  const Kernels<T, kTerms>& kernels = Kernels<T, kTerms>::Get();
  for (int64_t j = 0; j < p.columns; j += kColumns) {
    const int64_t n = std::min<int64_t>(kColumns, p.columns - j), vectors = CeilDiv(n, kLane);
    const auto last = static_cast<int>(n - (vectors - 1) * kLane);
    Tile<T> tile{.k_count = p.k_count,
                 .a = p.a.data,
                 .a_stride = p.a.stride,
                 .a_k_stride = p.a.k_stride,
                 .b = p.b.data + j / kColumns * p.b.panel_stride,
                 .b_k_stride = p.b.k_stride,
                 .c = to + j,
                 .ld = ld,
                 .add = add,
                 .last = last,
                 .loaded = p.b.is_packed ? kLane : last};
    const Kernel<T>* by_rows = kernels.Find(vectors, n % kLane == 0, in_place);
    int64_t i = 0;
    const auto advance = [&](int64_t panels) {
      i += panels * kRows;
      tile.a += panels * p.a.panel_stride;
      tile.c += panels * kRows * ld;
    };
    if constexpr (!kComplex<T> && kTerms != Terms::kQuads) {
      for (; vectors == 1 && !in_place && i + 2 * kRows <= p.rows; advance(2))
        NarrowKernel<T, kTerms>(tile, tile.a + p.a.panel_stride);
    }
    for (; i < p.rows; advance(1)) by_rows[std::min<int64_t>(kRows, p.rows - i) - 1](tile);
  }
}

#define HLO_KERNELS(T, TERMS) \
  template void MultiplyPanelPairs<T, TERMS>(const PanelProduct<T>&, T*, int64_t, bool);
HLO_KERNELS(float, Terms::kSingle)
HLO_KERNELS(double, Terms::kSingle)
HLO_KERNELS(uint32_t, Terms::kSingle)
HLO_KERNELS(uint64_t, Terms::kSingle)
HLO_KERNELS(std::complex<float>, Terms::kSingle)
HLO_KERNELS(std::complex<double>, Terms::kSingle)
HLO_KERNELS(float, Terms::kPairs)
HLO_KERNELS(uint32_t, Terms::kPairs)
HLO_KERNELS(uint32_t, Terms::kQuads)
#undef HLO_KERNELS

}  // namespace hlo::cpu
