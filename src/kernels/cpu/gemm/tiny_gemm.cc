#include "kernels/cpu/gemm/tiny_gemm.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/gemm/gemm_core.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kMaxTerms = 16 << 10;  // Limit for one product, unless its sums are short.
constexpr int64_t kShortSum = 8;         // Packing takes little of the time of longer sums of many rows.
constexpr int64_t kMinColumns = 4;       // Fewer columns leave most lanes empty.
constexpr int kRows = 6;                 // Rows of a tile.

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

// Computes kCount rows of the result; rows from `count` on repeat the last one.
template <class T, int kVectors, int kCount>
[[gnu::always_inline]] inline void MultiplyRows(const Sizes& s, const Operands<T>& of, int64_t row,
                                                int64_t count) {
  constexpr int kLane = kLanes<T>;
  const int last = static_cast<int>(s.n) - (kVectors - 1) * kLane;
  const T* a[kCount];
  for (int r = 0; r < kCount; ++r) a[r] = of.a + (row + std::min<int64_t>(r, count - 1)) * s.a_row_stride;
  Vector<T> sums[kCount][kVectors] = {};
  const T* b = of.b;
  for (int64_t k = 0; k < s.k; ++k, b += s.b_row_stride) {
    Vector<T> terms[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v + 1 < kVectors; ++v) terms[v] = LoadVector(b + v * kLane);
    terms[kVectors - 1] = LoadFirst(b + (kVectors - 1) * kLane, last);
#pragma GCC unroll 8
    for (int r = 0; r < kCount; ++r) {
      const Vector<T> factor = Broadcast(a[r][k * s.a_column_stride]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] += factor * terms[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kCount; ++r) {
    if (r >= count) break;
    T* to = of.c + (row + r) * s.c_row_stride;
#pragma GCC unroll 4
    for (int v = 0; v + 1 < kVectors; ++v) StoreVector(to + v * kLane, sums[r][v]);
    StoreFirst(to + (kVectors - 1) * kLane, sums[r][kVectors - 1], last);
  }
}

template <class T, int kVectors>
void MultiplyOne(const Sizes& s, const Operands<T>& of) {
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
  // Products of many rows are split.
  const int64_t each = std::max<int64_t>(1, p.n * p.k);
  const int64_t rows = std::min(p.m, RoundUp(CeilDiv(kMaxTerms, each), int64_t{kRows}));
  const int64_t pieces = CeilDiv(p.m, rows), count = Product(p.batch_dims) * pieces;
  const auto terms = static_cast<double>(rows * each);
  const int64_t at_once = std::clamp<int64_t>(kMaxTerms / (rows * each), 1, 64);
  ParallelFor(CeilDiv(count, at_once), static_cast<double>(count) * (terms * 0.05 + 20), [&](int64_t chunk) {
    alignas(64) T panel[kPanelDepth * kPanelColumns<T>];
    Sizes of_piece = sizes;
    const int64_t end = std::min(count, (chunk + 1) * at_once);
    for (int64_t i = chunk * at_once; i < end; ++i) {
      const BatchOffsets at = OffsetsOf(p, i / pieces);
      const int64_t row = i % pieces * rows;
      Operands<T> of{static_cast<const T*>(p.a.data) + at.a + row * sizes.a_row_stride,
                     static_cast<const T*>(p.b.data) + at.b,
                     static_cast<T*>(p.c) + at.c + row * sizes.c_row_stride};
      of_piece.m = std::min(rows, p.m - row);
      if (packs) {
        const StridedSource<T, kPanelColumns<T>> columns(of.b, p.b.type, p.b.column_stride, p.b.row_stride);
        columns.Pack(0, p.n, 0, p.k, panel);
        of.b = panel;
      }
      if (p.n <= kLanes<T>)
        MultiplyOne<T, 1>(of_piece, of);
      else
        MultiplyOne<T, 2>(of_piece, of);
    }
  });
}

// Returns the same problem with all row dimensions of a but the last one as dimensions of the batch.
GemmProblem WithPlainRows(const GemmProblem& p) {
  GemmProblem result = p;
  GemmOperand& a = result.a;
  if (a.row_sizes.empty()) return result;
  int64_t c_stride = p.m * p.c_row_stride;
  for (int64_t d = 0; d + 1 < a.row_sizes.rank(); ++d) {
    c_stride /= a.row_sizes[d];
    result.batch_dims.push_back(a.row_sizes[d]);
    a.batch_strides.push_back(a.row_strides[d]);
    result.b.batch_strides.push_back(0);
    result.c_batch_strides.push_back(c_stride);
  }
  result.m = a.row_sizes.back();
  a.row_stride = a.row_strides.back();
  a.row_sizes.clear();
  a.row_strides.clear();
  return result;
}

template <class T>
bool Supports(const GemmProblem& p) {
  const bool fits = p.epilogue.run == nullptr && IsPlainMatrix(p.a) && IsPlainMatrix(p.b) &&
                    p.n >= kMinColumns && p.n <= 2 * kLanes<T> && p.k <= kPanelDepth;
  const int64_t short_sum = p.n <= kLanes<T> ? 2 * kShortSum : kShortSum;
  return fits && (p.k <= short_sum || (p.m <= kMaxTerms && p.m * p.n * p.k <= kMaxTerms));
}

}  // namespace

bool TinyGemm(const GemmProblem& problem) {
  if (problem.a.type != problem.c_type || problem.b.type != problem.c_type) return false;
  const bool is_f32 = problem.c_type == ElementType::kF32;
  if (!is_f32 && problem.c_type != ElementType::kF64) return false;
  const GemmProblem p = WithPlainRows(problem);
  if (is_f32 ? !Supports<float>(p) : !Supports<double>(p)) return false;
  is_f32 ? MultiplyTinyBatch<float>(p) : MultiplyTinyBatch<double>(p);
  return true;
}

}  // namespace hlo::cpu
