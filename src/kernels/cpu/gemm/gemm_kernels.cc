#include "kernels/cpu/gemm/gemm_kernels.h"

#include <algorithm>
#include <cstring>

namespace hlo::cpu {
namespace {

template <class T, Terms kTerms>
[[gnu::always_inline]] inline Vector<T> MultiplyAdd(Vector<T> sum, Vector<T> a, Vector<T> b) {
  if constexpr (kTerms == Terms::kPairs)
    return AddPairProducts(sum, a, b);
  else if constexpr (kTerms == Terms::kQuads)
    return AddQuadProducts(sum, a, b);
  else
    return sum + a * b;
}

// Broadcasts a term to all lanes. Packed terms are copied as bits, because they are not a number.
template <class T, Terms kTerms>
[[gnu::always_inline]] inline Vector<T> BroadcastTerm(const T* from) {
  if constexpr (kTerms != Terms::kSingle) {
    uint32_t bits;
    std::memcpy(&bits, from, sizeof bits);
    return BitsOf<Vector<T>>(Broadcast(bits));
  } else {
    return Broadcast(*from);
  }
}

// Prefetches a tile of the result into the given cache level.
template <int kLevel, int kRows, int kColumns, class T>
[[gnu::always_inline]] inline void Prefetch(const T* c, int64_t ld) {
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

// The extra row of kQuads accumulates 128 * b, the contribution of the bias to every other row.
template <Terms kTerms>
inline constexpr int kMoreRows = kTerms == Terms::kQuads ? 1 : 0;

// Adds a[k, i] * b[k, j] to the sums for k_count terms, and advances both pointers past these terms.
template <class T, Terms kTerms, int kRows, int kVectors>
[[gnu::always_inline]] inline void AddTerms(int64_t k_count, const T*& a, const T*& b,
                                            Vector<T> (&sums)[kRows][kVectors]) {
  constexpr int kOwn = kRows - kMoreRows<kTerms>;
#pragma GCC unroll 4
  for (int64_t k = 0; k < k_count; ++k) {
    Vector<T> row[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) row[v] = LoadVector(b + v * kLanes<T>);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vector<T> factor =
          i < kOwn ? BroadcastTerm<T, kTerms>(a + i) : BitsOf<Vector<T>>(Broadcast(0x80808080u));
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[i][v] = MultiplyAdd<T, kTerms>(sums[i][v], factor, row[v]);
    }
    a += kPanelRows<T>;
    b += kPanelColumns<T>;
  }
}

// The micro-kernel: c[i, j] = or += sum over k of a[k, i] * b[k, j] for kRows rows, kVectors column vectors.
template <class T, Terms kTerms, int kRows, int kVectors>
void RealKernel(int64_t k_count, const T* a, const T* b, T* c, int64_t ld, bool add) {
  constexpr int kLane = kLanes<T>;
  Vector<T> sums[kRows + kMoreRows<kTerms>][kVectors] = {};
  const int64_t early = std::max<int64_t>(0, k_count - kLateTerms);
  if (early > 0) {
    Prefetch<2, kRows, kVectors * kLane>(c, ld);
    AddTerms<T, kTerms>(early, a, b, sums);
  }
  Prefetch<1, kRows, kVectors * kLane>(c, ld);
  AddTerms<T, kTerms>(k_count - early, a, b, sums);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kMoreRows<kTerms> == 1) sums[i][v] -= sums[kRows][v];
      T* to = c + i * ld + v * kLane;
      StoreVector(to, add ? LoadVector(to) + sums[i][v] : sums[i][v]);
    }
  }
}

// Multiplies two row panels with one column vector; a narrow result leaves registers for both.
template <class T, Terms kTerms>
void NarrowKernel(int64_t k_count, const T* a, const T* lower, const T* b, T* c, int64_t ld, bool add) {
  constexpr int kRows = kPanelRows<T>;
  Prefetch<1, 2 * kRows, kLanes<T>>(c, ld);
  Vector<T> sums[2][kRows] = {};
  for (int64_t k = 0; k < k_count; ++k) {
    const Vector<T> row = LoadVector(b);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
      sums[0][i] = MultiplyAdd<T, kTerms>(sums[0][i], BroadcastTerm<T, kTerms>(a + i), row);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
      sums[1][i] = MultiplyAdd<T, kTerms>(sums[1][i], BroadcastTerm<T, kTerms>(lower + i), row);
    a += kRows;
    lower += kRows;
    b += kPanelColumns<T>;
  }
#pragma GCC unroll 2
  for (int p = 0; p < 2; ++p) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      T* to = c + (p * kRows + i) * ld;
      StoreVector(to, add ? LoadVector(to) + sums[p][i] : sums[p][i]);
    }
  }
}

// RealKernel for complex numbers. Each row of b holds real parts, then imaginary parts.
template <class T, int kRows, int kVectors>
void ComplexKernel(int64_t k_count, const T* a, const T* b, T* c, int64_t ld, bool add) {
  using R = Part<T>;
  constexpr int kLane = kLanes<R>;
  static_assert(kVectors == 1 && kPanelColumns<T> == kLane);
  Vector<R> re[kRows] = {}, im[kRows] = {};
  const R* from_a = reinterpret_cast<const R*>(a);
  const R* from_b = reinterpret_cast<const R*>(b);
#pragma GCC unroll 2
  for (int64_t k = 0; k < k_count; ++k) {
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
    T* to = c + i * ld;
    for (int j = 0; j < kLane; ++j) {
      const T sum(re[i][j], im[i][j]);
      to[j] = add ? to[j] + sum : sum;
    }
  }
}

template <class T>
using Kernel = void (*)(int64_t, const T*, const T*, T*, int64_t, bool);

// Micro-kernels by number of rows minus one and number of column vectors minus one.
template <class T, Terms kTerms>
struct Kernels {
  static constexpr int kVectors = kComplex<T> ? 1 : 2;
  Kernel<T> by_size[kPanelRows<T>][kVectors];

  static const Kernels& Get() {
    static const Kernels kernels;
    return kernels;
  }

 private:
  Kernels() { Fill<1>(); }
  template <int kRows>
  void Fill() {
    if constexpr (kComplex<T>) {
      by_size[kRows - 1][0] = ComplexKernel<T, kRows, 1>;
    } else {
      by_size[kRows - 1][0] = RealKernel<T, kTerms, kRows, 1>;
      by_size[kRows - 1][1] = RealKernel<T, kTerms, kRows, 2>;
    }
    if constexpr (kRows < kPanelRows<T>) Fill<kRows + 1>();
  }
};

}  // namespace

template <class T, Terms kTerms>
void MultiplyPacked(const PackedProduct<T>& p, T* to, int64_t ld, bool add) {
  constexpr int kRows = kPanelRows<T>, kColumns = kPanelColumns<T>;
  constexpr int kLane = kColumns / Kernels<T, kTerms>::kVectors;
  const Kernels<T, kTerms>& kernels = Kernels<T, kTerms>::Get();
  const int64_t a_step = kRows * p.k_count;
  for (int64_t j = 0; j < p.columns; j += kColumns) {
    const int64_t n = std::min<int64_t>(kColumns, p.columns - j);
    const T* b = p.b + j * p.k_count;
    const T* a = p.a;
    for (int64_t i = 0; i < p.rows;) {
      int64_t m = std::min<int64_t>(kRows, p.rows - i);
      T* c = to + i * ld + j;
      alignas(64) T edge[2 * kRows * kColumns];
      const bool is_whole = n % kLane == 0;
      T* sums = is_whole ? c : edge;
      const int64_t sums_ld = is_whole ? ld : kColumns;
      bool is_narrow = false;
      if constexpr (!kComplex<T> && kTerms != Terms::kQuads) {
        is_narrow = n <= kLane && i + 2 * kRows <= p.rows;
        if (is_narrow) {
          NarrowKernel<T, kTerms>(p.k_count, a, a + a_step, b, sums, sums_ld, add && is_whole);
          m = 2 * kRows;
          a += a_step;
        }
      }
      if (!is_narrow)
        kernels.by_size[m - 1][(n - 1) / kLane](p.k_count, a, b, sums, sums_ld, add && is_whole);
      for (int64_t r = 0; r < m && !is_whole; ++r) {
        for (int64_t s = 0; s < n; ++s)
          c[r * ld + s] = add ? c[r * ld + s] + edge[r * kColumns + s] : edge[r * kColumns + s];
      }
      i += m;
      a += a_step;
    }
  }
}

#define HLO_KERNELS(T, TERMS) \
  template void MultiplyPacked<T, TERMS>(const PackedProduct<T>&, T*, int64_t, bool);
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
