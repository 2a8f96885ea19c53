#include "kernels/cpu/gemm/tiny_gemm.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/gemm/gemm_core.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kMaxTerms = 16 << 10;  // Limit for one product.
constexpr int64_t kMinColumns = 4;       // Fewer columns leave most lanes empty.

// Matrices of one product. Rows of b are contiguous.
template <class T>
struct Operands {
  const T *a, *b;
  T* c;
};
struct Sizes {
  int64_t m, n, k;
  int64_t a_row_stride, a_column_stride, b_row_stride, c_row_stride;
};

// Computes kRows rows of the result; rows from `count` on repeat the last one.
template <class T, int kVectors, int kRows>
[[gnu::always_inline]] inline void MultiplyRows(const Sizes& s, const Operands<T>& of, int64_t row,
                                                int64_t count) {
  constexpr int kLane = kLanes<T>;
  const int last = static_cast<int>(s.n) - (kVectors - 1) * kLane;
  const T* a[kRows];
  for (int r = 0; r < kRows; ++r) a[r] = of.a + (row + std::min<int64_t>(r, count - 1)) * s.a_row_stride;
  Vector<T> sums[kRows][kVectors] = {};
  const T* b = of.b;
  for (int64_t k = 0; k < s.k; ++k, b += s.b_row_stride) {
    Vector<T> terms[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v + 1 < kVectors; ++v) terms[v] = LoadVector(b + v * kLane);
    terms[kVectors - 1] = LoadFirst(b + (kVectors - 1) * kLane, last);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Vector<T> factor = Broadcast(a[r][k * s.a_column_stride]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] += factor * terms[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    if (r >= count) break;
    T* to = of.c + (row + r) * s.c_row_stride;
#pragma GCC unroll 4
    for (int v = 0; v + 1 < kVectors; ++v) StoreVector(to + v * kLane, sums[r][v]);
    StoreFirst(to + (kVectors - 1) * kLane, sums[r][kVectors - 1], last);
  }
}

template <class T, int kVectors>
void MultiplyOne(const Sizes& s, const Operands<T>& of) {
  constexpr int kRows = 6;
  for (int64_t row = 0; row < s.m; row += kRows) {
    const int64_t count = std::min<int64_t>(kRows, s.m - row);
    if (count > 3)
      MultiplyRows<T, kVectors, kRows>(s, of, row, count);
    else if (count > 1)
      MultiplyRows<T, kVectors, 3>(s, of, row, count);
    else
      MultiplyRows<T, kVectors, 1>(s, of, row, count);
  }
}

template <class T>
void MultiplyTinyBatch(const GemmProblem& p) {
  Sizes sizes{p.m, p.n, p.k, p.a.row_stride, p.a.column_stride, p.b.row_stride, p.c_row_stride};
  const bool packs = p.b.column_stride != 1;
  if (packs) sizes.b_row_stride = kPanelColumns<T>;
  const int64_t count = Product(p.batch_dims);
  const auto terms = static_cast<double>(p.m * p.n * p.k);
  constexpr int64_t kAtOnce = 64;
  ParallelFor(CeilDiv(count, kAtOnce), static_cast<double>(count) * (terms * 0.05 + 20), [&](int64_t chunk) {
    alignas(64) T panel[kPanelDepth * kPanelColumns<T>];
    const int64_t end = std::min(count, (chunk + 1) * kAtOnce);
    for (int64_t batch = chunk * kAtOnce; batch < end; ++batch) {
      const BatchOffsets at = OffsetsOf(p, batch);
      Operands<T> of{static_cast<const T*>(p.a.data) + at.a, static_cast<const T*>(p.b.data) + at.b,
                     static_cast<T*>(p.c) + at.c};
      if (packs) {
        const StridedSource<T, kPanelColumns<T>> columns(of.b, p.b.type, p.b.column_stride, p.b.row_stride);
        columns.Pack(0, p.n, 0, p.k, panel);
        of.b = panel;
      }
      if (p.n <= kLanes<T>)
        MultiplyOne<T, 1>(sizes, of);
      else
        MultiplyOne<T, 2>(sizes, of);
    }
  });
}

template <class T>
bool Supports(const GemmProblem& p) {
  return p.epilogue.run == nullptr && IsPlainMatrix(p.a) && IsPlainMatrix(p.b) && p.n >= kMinColumns &&
         p.n <= 2 * kLanes<T> && p.k <= kPanelDepth && p.m <= kMaxTerms && p.m * p.n * p.k <= kMaxTerms;
}

}  // namespace

bool TinyGemm(const GemmProblem& p) {
  if (p.a.type != p.c_type || p.b.type != p.c_type) return false;
  if (p.c_type == ElementType::kF32 && Supports<float>(p)) {
    MultiplyTinyBatch<float>(p);
    return true;
  }
  if (p.c_type == ElementType::kF64 && Supports<double>(p)) {
    MultiplyTinyBatch<double>(p);
    return true;
  }
  return false;
}

}  // namespace hlo::cpu
