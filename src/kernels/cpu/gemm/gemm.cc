#include "kernels/cpu/gemm/gemm.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/parallel.h"
#include "kernels/cpu/gemm/amx.h"
#include "kernels/cpu/gemm/bf16_pairs.h"
#include "kernels/cpu/gemm/byte_quads.h"
#include "kernels/cpu/gemm/gemm_core.h"
#include "kernels/cpu/gemm/gemv.h"
#include "kernels/cpu/gemm/tiny_gemm.h"
#include "loops/gemm_problem.h"
#include "types/dispatch.h"

namespace hlo::cpu {
namespace {

// One product of a batch; the data pointers of a and b include the batch offsets.
struct OneProduct {
  int64_t m, n, k;
  GemmOperand a, b;
};

// Computes the elements of an operand into scratch memory.
GemmOperand Computed(GemmOperand x, int64_t rows, int64_t columns) {
  const bool by_rows = x.column_stride == 1;
  const int64_t lines = by_rows ? rows : columns, length = by_rows ? columns : rows;
  void* data = Scratch(ScratchSlot::kComputed, rows * columns * ByteCount(x.type));
  x.compute->run(x.compute->context,
                 {x.first, lines, length, by_rows ? x.row_stride : x.column_stride, data, length});
  x.data = data;
  (by_rows ? x.row_stride : x.column_stride) = length;
  x.compute = nullptr;
  return x;
}

// Multiplies a matrix of few rows or columns, widened to T, with the other matrix, which is read once.
template <class T>
void MultiplyThin(const OneProduct& p, const ProductSink<T>& sink) {
  const bool few_rows = p.m <= p.n;
  const int64_t rows = few_rows ? p.m : p.n, columns = few_rows ? p.n : p.m, whole = WholeChunks(rows);
  const auto at_hand = [](const GemmOperand& x, int64_t row_count, int64_t column_count) {
    return x.compute == nullptr ? x : Computed(x, row_count, column_count);
  };
  const int64_t thin_ld = RowDistance(p.k), sums_ld = RowDistance(columns);
  T* thin = Scratch<T>(ScratchSlot::kCallerA, whole * thin_ld);
  std::fill(thin + rows * thin_ld, thin + whole * thin_ld, T{});
  const GemmOperand few = few_rows ? at_hand(p.a, p.m, p.k) : at_hand(p.b, p.k, p.n);
  const WidenBlock<T> widen = WidenBlockOf<T>(few.type);
  if (few_rows)
    widen(few.data, few.row_stride, few.column_stride, rows, p.k, thin, thin_ld);
  else
    widen(few.data, few.column_stride, few.row_stride, rows, p.k, thin, thin_ld);
  const GemmOperand& many = few_rows ? p.b : p.a;
  MatrixView matrix{many.data, many.type, many.row_stride, many.column_stride, many.compute, many.first};
  if (!few_rows) std::swap(matrix.row_stride, matrix.column_stride);
  T* sums = Scratch<T>(ScratchSlot::kResult, whole * sums_ld + (few_rows ? 0 : rows * columns));
  MultiplyRows(whole, columns, p.k, thin, thin_ld, matrix, sums, sums_ld);
  if (few_rows) return sink.FinishRows(0, p.m, 0, p.n, sums, sums_ld);
  T* turned = sums + whole * sums_ld;
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) turned[i * p.n + j] = sums[j * sums_ld + i];
  }
  sink.FinishRows(0, p.m, 0, p.n, turned, p.n);
}

bool IsNested(const GemmOperand& operand) {
  return !operand.row_sizes.empty() || !operand.column_sizes.empty();
}

// Multiplies one or two complex vectors with a matrix, whose rows or columns are contiguous, as real numbers:
// the parts of the matrix's elements are columns or rows of their own. Returns false for other operands.
template <class T>
bool MultiplyComplexVectors(const OneProduct& p, const ProductSink<T>& sink) {
  using Real = Part<T>;
  constexpr int64_t kMaxVectors = kFewRows / 2;
  const bool few_rows = p.m <= p.n;
  const GemmOperand &few = few_rows ? p.a : p.b, &many = few_rows ? p.b : p.a;
  const int64_t vectors = few_rows ? p.m : p.n, columns = few_rows ? p.n : p.m;
  const int64_t k_stride = few_rows ? many.row_stride : many.column_stride,
                column_stride = few_rows ? many.column_stride : many.row_stride;
  if (vectors > kMaxVectors || !IsStoredAs<T>(many.type) || (k_stride != 1 && column_stride != 1) ||
      IsNested(p.a) || IsNested(p.b) || p.a.compute != nullptr || p.b.compute != nullptr)
    return false;
  T* x = Scratch<T>(ScratchSlot::kCallerB, vectors * p.k);
  const int64_t few_k_stride = few_rows ? few.column_stride : few.row_stride,
                few_stride = few_rows ? few.row_stride : few.column_stride;
  WidenBlockOf<T>(few.type)(few.data, few_stride, few_k_stride, vectors, p.k, x, p.k);
  const bool by_columns = k_stride == 1;
  const int64_t terms = by_columns ? 2 * p.k : p.k, sums = by_columns ? columns : 2 * columns;
  const int64_t thin_ld = RowDistance(terms), sums_ld = RowDistance(sums);
  Real* thin = Scratch<Real>(ScratchSlot::kCallerA, 2 * vectors * thin_ld);
  for (int64_t v = 0; v < vectors; ++v) {
    Real *first = thin + 2 * v * thin_ld, *second = first + thin_ld;
    for (int64_t k = 0; k < p.k; ++k) {
      const T value = x[v * p.k + k];
      if (by_columns) {
        first[2 * k] = value.real(), first[2 * k + 1] = -value.imag();
        second[2 * k] = value.imag(), second[2 * k + 1] = value.real();
      } else {
        first[k] = value.real(), second[k] = value.imag();
      }
    }
  }
  const ElementType real_type = sizeof(Real) == 4 ? ElementType::kF32 : ElementType::kF64;
  const MatrixView matrix = by_columns ? MatrixView{many.data, real_type, 1, 2 * column_stride}
                                       : MatrixView{many.data, real_type, 2 * k_stride, 1};
  Real* parts = Scratch<Real>(ScratchSlot::kResult, 2 * vectors * (sums_ld + columns));
  MultiplyRows(2 * vectors, sums, terms, thin, thin_ld, matrix, parts, sums_ld);
  T* result = reinterpret_cast<T*>(parts + 2 * vectors * sums_ld);
  for (int64_t v = 0; v < vectors; ++v) {
    const Real *first = parts + 2 * v * sums_ld, *second = first + sums_ld;
    for (int64_t j = 0; j < columns; ++j) {
      const T sum = by_columns ? T(first[j], second[j])
                               : T(first[2 * j] - second[2 * j + 1], first[2 * j + 1] + second[2 * j]);
      result[few_rows ? v * columns + j : j * vectors + v] = sum;
    }
  }
  sink.FinishRows(0, p.m, 0, p.n, result, p.n);
  return true;
}

// The dimensions that a row or column index spans.
struct Dims {
  Index sizes, strides;
};
Dims RowDims(const GemmOperand& x, int64_t count) {
  return x.row_sizes.empty() ? Dims{{count}, {x.row_stride}} : Dims{x.row_sizes, x.row_strides};
}
Dims ColumnDims(const GemmOperand& x, int64_t count) {
  return x.column_sizes.empty() ? Dims{{count}, {x.column_stride}} : Dims{x.column_sizes, x.column_strides};
}

// Calls f with a panel source for an operand whose element (i, k) is addressed through `dims` and `k_dims`.
template <class T, int kWidth, class F>
void WithSource(const GemmOperand& x, const Dims& dims, const Dims& k_dims, F&& f) {
  if (x.compute != nullptr) {
    f(ComputedSource<T, kWidth>(x, dims.strides[0], k_dims.strides[0]));
  } else if (IsNested(x)) {
    f(NestedSource<T, kWidth>(x.data, x.type, dims.sizes, dims.strides, k_dims.sizes, k_dims.strides));
  } else {
    f(StridedSource<T, kWidth>(x.data, x.type, dims.strides[0], k_dims.strides[0]));
  }
}

// Returns true if the product is bound by the time to read the larger matrix.
template <class T>
bool IsThin(const OneProduct& p) {
  constexpr int64_t kManyColumns = 64;
  if (IsNested(p.a) || IsNested(p.b)) return false;
  const bool loads_directly =
      ByteCount(p.b.type) == sizeof(T) || (std::is_same_v<T, float> && loops::WidensOnLoad(p.b.type));
  return std::min(p.m, p.n) <= kFewRows ||
         (p.m <= kMaxRows && p.n >= kManyColumns && p.b.column_stride == 1 && loads_directly);
}

// Multiplies bf16 matrices, if T is float, or s8 matrices. PrefersAmx must be true. Sums are computed from
// scaled operands.
template <class T>
void MultiplyByAmx(const OneProduct& p, ProductSink<T> sink, BF16Scales scales = {}) {
  if constexpr (kPacksAmxTiles) {
    sink.scale = scales.a + scales.b;
    const AmxSource<T, true> a(p.a.data, p.a.row_stride, p.a.column_stride, p.k, scales.a);
    const AmxSource<T, false> b(p.b.data, p.b.column_stride, p.b.row_stride, p.k, scales.b);
    MultiplyPanels<T, Terms::kAmx>(p.m, p.n, AmxWords<T>(p.k), a, b, sink);
  }
}

// Returns true if instructions for bf16 multiply such operands, unless their elements are too small.
bool HasBF16Kernel(const GemmOperand& a, const GemmOperand& b, int64_t m, int64_t n, int64_t k) {
  constexpr double kWorthwhile = 1 << 15;
  const double terms = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const auto is_bf16 = [](const GemmOperand& x) { return x.type == ElementType::kBF16 && !IsNested(x); };
  if (!is_bf16(a) || !is_bf16(b) || std::min(m, n) <= kFewRows || terms < kWorthwhile) return false;
  return kMultipliesPairsOfBF16 || PrefersAmx<float>(m, k);
}

// Returns false, and writes nothing, if the operands are not plain bf16 matrices or their elements too small.
bool MultiplyBF16(const OneProduct& p, const ProductSink<float>& sink) {
  if (!IsPlainMatrix(p.a) || !IsPlainMatrix(p.b) || !HasBF16Kernel(p.a, p.b, p.m, p.n, p.k)) return false;
  const BF16Matrix a{static_cast<const bfloat16*>(p.a.data), p.a.row_stride, p.a.column_stride};
  const BF16Matrix b{static_cast<const bfloat16*>(p.b.data), p.b.column_stride, p.b.row_stride};
  const std::optional<BF16Scales> scales = NormalScales(a, p.m, b, p.n, p.k);
  const bool by_amx = PrefersAmx<float>(p.m, p.k);
  if (!scales.has_value() || (*scales != BF16Scales() && !by_amx)) return false;
  if (by_amx) {
    MultiplyByAmx(p, sink, *scales);
  } else {
    MultiplyPanels<float, Terms::kPairs>(p.m, p.n, (p.k + 1) / 2, BF16PairSource<kPanelRows<float>>(a, p.k),
                                         BF16PairSource<kPanelColumns<float>>(b, p.k), sink);
  }
  return true;
}

template <class T>
void Multiply(const OneProduct& p, const ProductSink<T>& sink) {
  if constexpr (kComplex<T>) {
    if (MultiplyComplexVectors<T>(p, sink)) return;
  } else if (IsThin<T>(p)) {
    return MultiplyThin<T>(p, sink);
  }
  if constexpr (std::is_same_v<T, float>) {
    if (MultiplyBF16(p, sink)) return;
  }
  if constexpr (std::is_same_v<T, uint32_t>) {
    const bool bytes = p.a.type == ElementType::kS8 && p.b.type == ElementType::kS8;
    const bool is_plain = IsPlainMatrix(p.a) && IsPlainMatrix(p.b);
    if (bytes && is_plain && PrefersAmx<T>(p.m, p.k)) return MultiplyByAmx<T>(p, sink);
    if (kMultipliesQuads && bytes && is_plain) {
      const ByteQuadSource<kPanelRows<T>, true> a(p.a.data, p.a.row_stride, p.a.column_stride, p.k);
      const ByteQuadSource<kPanelColumns<T>, false> b(p.b.data, p.b.column_stride, p.b.row_stride, p.k);
      return MultiplyPanels<T, Terms::kQuads>(p.m, p.n, (p.k + 3) / 4, a, b, sink);
    }
    if (is_plain && FitsPairs(p.a.type) && FitsPairs(p.b.type)) {
      const PairSource<kPanelRows<T>> a(p.a.data, p.a.type, p.a.row_stride, p.a.column_stride, p.k);
      const PairSource<kPanelColumns<T>> b(p.b.data, p.b.type, p.b.column_stride, p.b.row_stride, p.k);
      return MultiplyPanels<T, Terms::kPairs>(p.m, p.n, (p.k + 1) / 2, a, b, sink);
    }
  }
  WithSource<T, kPanelRows<T>>(p.a, RowDims(p.a, p.m), ColumnDims(p.a, p.k), [&](const auto& a) {
    WithSource<T, kPanelColumns<T>>(p.b, ColumnDims(p.b, p.n), RowDims(p.b, p.k),
                                    [&](const auto& b) { MultiplyPanels<T>(p.m, p.n, p.k, a, b, sink); });
  });
}

GemmOperand Shifted(GemmOperand operand, int64_t offset) {
  operand.first += offset;
  if (operand.data != nullptr)
    operand.data = static_cast<const std::byte*>(operand.data) + offset * ByteCount(operand.type);
  return operand;
}

template <class T>
void MultiplyBatch(const GemmProblem& problem) {
  const int64_t count = Product(problem.batch_dims);
  ProductSink<T> sink = SinkOf<T>(problem.c, problem.c_type, problem.epilogue);
  sink.row_stride = problem.c_row_stride;
  const auto one = [&](int64_t batch) {
    const BatchOffsets at = OffsetsOf(problem, batch);
    ProductSink<T> to = sink;
    to.origin = at.c;
    Multiply<T>({problem.m, problem.n, problem.k, Shifted(problem.a, at.a), Shifted(problem.b, at.b)}, to);
  };
  const double each = ProductNanoseconds<T>(static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                                            static_cast<double>(problem.k)) +
                      100;
  // Large products use all threads; many or small ones run on one thread each.
  if (count < 4 * ThreadCount() && each > 100'000) {
    for (int64_t batch = 0; batch < count; ++batch) one(batch);
  } else {
    ParallelFor(count, each * static_cast<double>(count), one);
  }
}

}  // namespace

bool GemmPrefersMemory(const GemmProblem& p) { return HasBF16Kernel(p.a, p.b, p.m, p.n, p.k); }

GemmProblem WithData(loops::GemmProblem problem, const void* a, const void* b, void* c) {
  return {{problem.m, problem.n, problem.k, std::move(problem.batch_dims),
           GemmOperand{std::move(problem.a), a}, GemmOperand{std::move(problem.b), b}, problem.c_type,
           problem.c_row_stride, std::move(problem.c_batch_strides)},
          c};
}

void Gemm(const GemmProblem& problem) {
  if (problem.m == 0 || problem.n == 0 || Product(problem.batch_dims) == 0) return;
  HLO_CHECK(GemmSupports(problem.a.type, problem.b.type, problem.c_type));
  if (TinyGemm(problem)) return;
  DispatchCompute(GemmComputeType(problem.a.type, problem.b.type, problem.c_type),
                  [&]<class T>() { MultiplyBatch<T>(problem); });
  ReleaseAmxTiles();
}

}  // namespace hlo::cpu
