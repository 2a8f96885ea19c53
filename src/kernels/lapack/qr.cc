#include "kernels/lapack/qr.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "kernels/lapack/reflector_blocks.h"
#include "kernels/lapack/reflectors.h"

namespace hlo::lapack {
namespace {

// Matrices of at most one block of reflectors, or of at most kNear bytes, are stored as lines, and their
// reflectors are applied one by one.
constexpr int64_t kNear = 96 << 10;
bool IsNear(int64_t rows, int64_t columns, int64_t element_bytes) {
  return columns <= BlockCounts::SizeOf(columns) ||
         columns * PaddedLength(rows, element_bytes) * element_bytes <= kNear;
}

BlockCounts CountForQr(int64_t rows, int64_t columns, int64_t element_bytes) {
  if (IsNear(rows, columns, element_bytes)) return {columns * PaddedLength(rows, element_bytes)};
  return BlockCounts::For(rows, std::min(rows, columns), columns, element_bytes);
}
bool IsNearProduct(int64_t rows, int64_t reflectors, int64_t others, int64_t element_bytes) {
  return (reflectors + others) * PaddedLength(rows, element_bytes) * element_bytes <= kNear;
}
BlockCounts CountForProduct(int64_t rows, int64_t reflectors, int64_t others, int64_t element_bytes) {
  if (IsNearProduct(rows, reflectors, others, element_bytes))
    return {(reflectors + others) * PaddedLength(rows, element_bytes)};
  return BlockCounts::For(rows, reflectors, others, element_bytes);
}

// Computes geqrf of a panel, stored as lines.
template <class T>
void FactorQrPanel(const Matrix<T>& a, const Matrix<T>& lines, absl::Span<T> taus) {
  ReadLines(a.AsConst(), lines);
  FactorLines(lines, taus);
  WriteLines(lines, 0, a);
}

// Computes orgqr with the matrix stored as lines.
template <class T>
void GenerateNear(const Matrix<T>& a, absl::Span<const T> taus, const Matrix<T>& lines) {
  const auto k = static_cast<int64_t>(taus.size());
  ReadLines(a.AsConst(), lines);
  CompleteReflectors(lines.Block(0, 0, k, a.rows));
  for (int64_t c = k; c < lines.rows; ++c) {
    std::fill_n(&lines(c, 0), lines.columns, T(0));
    if (c < lines.columns) lines(c, c) = T(1);
  }
  for (int64_t j = k - 1; j >= 0; --j) {
    T* v = &lines(j, 0);
    ApplyReflector(v, j, taus[j], lines.Block(j + 1, 0, lines.rows - j - 1, lines.columns));
    const T minus = -taus[j];
    for (int64_t i = j; i < lines.columns; ++i) v[i] = Times(minus, v[i]);
    v[j] += T(1);
  }
  WriteLines(lines, 0, a);
}

// Computes lines = q lines or q^H lines, with v's columns as the reflectors of q.
template <class T>
void MultiplyLines(const Matrix<T>& v, absl::Span<const T> taus, const Matrix<T>& lines, bool adjoint) {
  for (int64_t step = 0; step < v.rows; ++step) {
    const int64_t j = adjoint ? step : v.rows - 1 - step;
    ApplyReflector(&v(j, 0), j, adjoint ? Conj(taus[j]) : taus[j], lines);
  }
}

template <class T>
void Conjugate(const Matrix<T>& m) {
  if constexpr (std::is_same_v<T, Complex>) {
    for (int64_t i = 0; i < m.rows; ++i) {
      for (int64_t j = 0; j < m.columns; ++j) m(i, j) = std::conj(m(i, j));
    }
  }
}

template <class T>
void MultiplyNear(const Matrix<const T>& reflectors, absl::Span<const T> taus, const Matrix<T>& c, bool left,
                  bool adjoint, const Matrix<T>& memory) {
  const auto k = static_cast<int64_t>(taus.size());
  const Matrix<T> v = memory.Block(0, 0, k, memory.columns);
  const Matrix<T> lines = memory.Block(k, 0, memory.rows - k, memory.columns);
  ReadLines(reflectors.Block(0, 0, reflectors.rows, k), v);
  CompleteReflectors(v);
  // The rows of c are multiplied as columns of its adjoint.
  const Matrix<T> columns = left ? c : c.Transposed();
  ReadLines(columns.AsConst(), lines);
  if (!left) Conjugate(lines);
  MultiplyLines(v, taus, lines, left == adjoint);
  if (!left) Conjugate(lines);
  WriteLines(lines, 0, columns);
}

int64_t ReflectorCount(size_t taus, int64_t rows, int64_t columns) {
  return std::min({static_cast<int64_t>(taus), rows, columns});
}

}  // namespace

int64_t QrScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes) {
  const int64_t panel = BlockCounts::SizeOf(std::min(rows, columns));
  return CountForQr(rows, columns, element_bytes).total() * element_bytes +
         FactorLinesScratchBytes(panel, rows, element_bytes);
}

int64_t OrmqrScratchBytes(int64_t rows, int64_t reflectors, int64_t others, int64_t element_bytes) {
  return CountForProduct(rows, reflectors, others, element_bytes).total() * element_bytes;
}

template <class T>
void Geqrf(Matrix<T> a, absl::Span<T> taus) {
  const auto k = static_cast<int64_t>(taus.size());
  if (k == 0) return;
  ReflectorBlock<T> block(CountForQr(a.rows, a.columns, sizeof(T)));
  const bool is_near = IsNear(a.rows, a.columns, sizeof(T));
  const int64_t end = is_near ? a.columns : k, step = is_near ? end : BlockCounts::SizeOf(k);
  for (int64_t j = 0; j < k; j += step) {
    const Matrix<T> panel = a.Block(j, j, a.rows - j, std::min(step, end - j));
    const absl::Span<T> panel_taus = taus.subspan(j, std::min(step, k - j));
    const Matrix<T> lines = block.Lines(panel.columns, panel.rows);
    FactorQrPanel(panel, lines, panel_taus);
    const int64_t right = a.columns - j - panel.columns;
    if (right == 0) continue;
    CompleteReflectors(lines);
    block.Set(lines, panel_taus.data());
    block.ApplyLeft(a.Block(j, j + panel.columns, panel.rows, right), /*adjoint=*/true);
  }
}

template <class T>
void Orgqr(Matrix<T> a, absl::Span<const T> taus) {
  if (a.rows == 0 || a.columns == 0) return;
  const int64_t k = ReflectorCount(taus.size(), a.rows, a.columns), step = BlockCounts::SizeOf(k);
  ReflectorBlock<T> block(CountForQr(a.rows, a.columns, sizeof(T)));
  if (IsNear(a.rows, a.columns, sizeof(T)))
    return GenerateNear(a, taus.first(k), block.Lines(a.columns, a.rows));
  for (int64_t i = 0; i < a.rows; ++i) {
    std::fill(&a(i, 0) + k, &a(i, 0) + a.columns, T(0));
    if (i >= k && i < a.columns) a(i, i) = T(1);
  }
  for (int64_t end = k; end > 0;) {
    const int64_t j = (end - 1) / step * step;
    block.Read(a.Block(j, j, a.rows - j, end - j).AsConst(), taus.data() + j);
    for (int64_t i = 0; i < j; ++i) std::fill(&a(i, j), &a(i, 0) + end, T(0));
    block.Extend(a.Block(j, j, a.rows - j, a.columns - j));
    end = j;
  }
}

template <class T>
void Ormqr(Matrix<const T> reflectors, absl::Span<const T> taus, Matrix<T> c, bool left, bool adjoint) {
  const int64_t rows = reflectors.rows, others = left ? c.columns : c.rows;
  const int64_t k = ReflectorCount(taus.size(), rows, reflectors.columns), step = BlockCounts::SizeOf(k);
  if (k == 0 || others == 0) return;
  ReflectorBlock<T> block(CountForProduct(rows, k, others, sizeof(T)));
  if (IsNearProduct(rows, k, others, sizeof(T)))
    return MultiplyNear(reflectors, taus.first(k), c, left, adjoint, block.Lines(k + others, rows));
  // q c applies the last reflectors first, q^H c the first ones. From the right, the order is reversed.
  const bool forwards = left == adjoint;
  const int64_t blocks = CeilDiv(k, step);
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t j = (forwards ? i : blocks - 1 - i) * step, count = std::min(step, k - j);
    block.Read(reflectors.Block(j, j, rows - j, count), taus.data() + j);
    if (left)
      block.ApplyLeft(c.Block(j, 0, rows - j, others), adjoint);
    else
      block.ApplyRight(c.Block(0, j, others, rows - j), adjoint);
  }
}

#define HLO_INSTANTIATE(T)                             \
  template void Geqrf(Matrix<T>, absl::Span<T>);       \
  template void Orgqr(Matrix<T>, absl::Span<const T>); \
  template void Ormqr(Matrix<const T>, absl::Span<const T>, Matrix<T>, bool, bool);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::lapack
