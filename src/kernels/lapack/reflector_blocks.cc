#include "kernels/lapack/reflector_blocks.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/lapack/reflectors.h"

namespace hlo::lapack {
namespace {

// Matrices with fewer elements are updated by one reflector at a time.
constexpr int64_t kFewElements = 24 * 24;
// Panels with fewer lines, or with fewer bytes, are not divided.
constexpr int64_t kFewLines = 32;
constexpr int64_t kFewBytes = 512 << 10;

bool AreDivided(int64_t lines, int64_t length, int64_t element_bytes) {
  return lines > kFewLines && lines * PaddedLength(length, element_bytes) * element_bytes > kFewBytes;
}

// Applies the reflectors one by one.
template <class T>
void ApplyEach(const Reflectors<T>& h, const Matrix<T>& x, bool adjoint) {
  cpu::CachedVector<T> sums(x.columns);
  for (int64_t step = 0; step < h.count; ++step) {
    const int64_t j = adjoint ? step : h.count - 1 - step;
    if (h.taus[j] == T(0)) continue;
    const T* v = h.rows + j * h.row_stride;
    const int64_t first = h.shift + j;
    std::fill(sums.begin(), sums.end(), T(0));
    const auto each = [&](auto&& body) {
      for (int64_t i = first; i < h.length; ++i) {
        const T value = i == first ? T(1) : v[i];
        for (int64_t c = 0; c < x.columns; ++c) body(value, x(i, c), sums[c]);
      }
    };
    each([](T value, T& element, T& sum) { sum += Times(Conj(value), element); });
    for (T& sum : sums) sum = Times(adjoint ? Conj(h.taus[j]) : h.taus[j], sum);
    each([](T value, T& element, T& sum) { element -= Times(value, sum); });
  }
}

// Computes FactorLines for lines [begin, end) recursively; the lines before are already factored.
template <class T>
void FactorSome(const Matrix<T>& lines, absl::Span<T> taus, int64_t begin, int64_t end) {
  const int64_t reflectors = std::min(end, static_cast<int64_t>(taus.size()));
  if (AreDivided(end - begin, lines.columns, sizeof(T))) {
    const int64_t middle = begin + (end - begin) / 2;
    FactorSome(lines, taus, begin, middle);
    const Reflectors<T> panel{
        &lines(begin, 0),   lines.row_stride, std::min(reflectors, middle) - begin, lines.columns, begin,
        taus.data() + begin};
    ApplyReflectors(panel, lines.Block(middle, 0, end - middle, lines.columns).Transposed(),
                    /*adjoint=*/true);
    return FactorSome(lines, taus, middle, end);
  }
  for (int64_t j = begin; j < reflectors; ++j) {
    T* v = &lines(j, 0);
    const auto [beta, tau] = Reflect(v, j, lines.columns);
    ApplyReflector(v, j, Conj(tau), lines.Block(j + 1, 0, end - j - 1, lines.columns));
    v[j] = beta;
    taus[j] = tau;
  }
}

}  // namespace

int64_t BlockCounts::SizeOf(int64_t reflectors) {
  return std::min(reflectors, std::clamp<int64_t>(reflectors / 160 * 16, 32, 64));
}

BlockCounts BlockCounts::For(int64_t length, int64_t reflectors, int64_t others, int64_t element_bytes) {
  const int64_t size = SizeOf(reflectors);
  return {size * PaddedLength(length, element_bytes), size * PaddedLength(size, element_bytes),
          size * others};
}

template <class T>
void ReflectorBlock<T>::Set(const Matrix<T>& lines, const T* taus) {
  lines_ = lines;
  const int64_t n = count(), stride = PaddedLength<T>(n);
  T* data = memory_.data() + counts_.lines;
  const Matrix<T> gram{data, n, n, stride, 1};
  t_ = {data + counts_.square, n, n, stride, 1};
  Product(v_adjoint(), v(), gram);
  // Column j of t consists of -tau t v^H v(j) and tau.
  for (int64_t j = 0; j < n; ++j) {
    std::fill_n(&t_(j, 0), stride, T(0));
    T* factors = &gram(j, 0);
    for (int64_t k = 0; k < j; ++k) factors[k] = Times(-taus[j], Conj(factors[k]));
    CombineLines(t_.Block(0, 0, j, j), factors, &t_(j, 0));
    t_(j, j) = taus[j];
  }
}

template <class T>
void ReflectorBlock<T>::Read(const Matrix<const T>& columns, const T* taus) {
  const Matrix<T> lines = Lines(columns.columns, columns.rows);
  ReadLines(columns, lines);
  CompleteReflectors(lines);
  Set(lines, taus);
}

template <class T>
void ReflectorBlock<T>::Read(const Reflectors<T>& h, int64_t begin, int64_t count) {
  const int64_t first = h.shift + begin;
  const Matrix<T> lines = Lines(count, h.length - first);
  for (int64_t j = 0; j < count; ++j) {
    const T* row = h.rows + (begin + j) * h.row_stride + first;
    std::copy(row + j, row + lines.columns, &lines(j, j));
  }
  CompleteReflectors(lines);
  Set(lines, h.taus + begin);
}

template <class T>
void ReflectorBlock<T>::ApplyLeft(const Matrix<T>& c, bool adjoint) const {
  const Matrix<T> w = ProductLike(c, 0, count(), c.columns);
  Product(v_adjoint(), Plain(c), w);
  Subtract(w, c, adjoint);
}

template <class T>
void ReflectorBlock<T>::ApplyRight(const Matrix<T>& c, bool adjoint) const {
  const Matrix<T> w = ProductLike(c, 0, c.rows, count()), tw = ProductLike(c, 1, c.rows, count());
  Product(Plain(c), v(), w);
  Product(Plain(w), t(adjoint), tw);
  SubtractProduct(Plain(tw), v_adjoint(), c);
}

template <class T>
void ReflectorBlock<T>::Extend(const Matrix<T>& c) const {
  const int64_t n = count(), right = c.columns - n, below = c.rows - n;
  for (int64_t i = 0; i < c.rows; ++i) {
    std::fill_n(&c(i, 0), n, T(0));
    if (i < n) c(i, i) = T(1);
  }
  const Matrix<T> w = ProductLike(c, 0, n, c.columns);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) w(i, j) = Conj(lines_(i, j));
  }
  if (right > 0) {
    const Source<T> v_below = Plain(lines_.Block(0, n, n, below)).Conjugate();
    Product(v_below, Plain(c.Block(n, n, below, right)), w.Block(0, n, n, right));
  }
  Subtract(w, c, /*adjoint=*/false);
}

template <class T>
void ReflectorBlock<T>::Subtract(const Matrix<T>& w, const Matrix<T>& c, bool adjoint) const {
  const Matrix<T> tw = ProductLike(c, 1, w.rows, w.columns);
  Product(t(adjoint), Plain(w), tw);
  SubtractProduct(v(), Plain(tw), c);
}

template <class T>
Matrix<T> ReflectorBlock<T>::ProductLike(const Matrix<T>& c, int64_t number, int64_t rows,
                                         int64_t columns) const {
  T* data = memory_.data() + counts_.lines + 2 * counts_.square + number * counts_.product;
  // Results of products have contiguous rows.
  return c.column_stride == 1 ? Matrix<T>::Dense(data, rows, columns)
                              : Matrix<T>::Dense(data, columns, rows).Transposed();
}

template <class T>
void ApplyReflectors(const Reflectors<T>& h, const Matrix<T>& x, bool adjoint) {
  if (h.count <= 0 || x.columns == 0) return;
  if (x.rows * x.columns <= kFewElements) return ApplyEach(h, x, adjoint);
  ReflectorBlock<T> block(BlockCounts::For(h.length, h.count, x.columns, sizeof(T)));
  const int64_t size = BlockCounts::SizeOf(h.count), blocks = CeilDiv(h.count, size);
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t from = (adjoint ? i : blocks - 1 - i) * size, first = h.shift + from;
    block.Read(h, from, std::min(size, h.count - from));
    block.ApplyLeft(x.Block(first, 0, h.length - first, x.columns), adjoint);
  }
}

int64_t ApplyReflectorsScratchBytes(int64_t count, int64_t length, int64_t columns, int64_t element_bytes) {
  return BlockCounts::For(length, count, columns, element_bytes).total() * element_bytes;
}

template <class T>
void FactorLines(const Matrix<T>& lines, absl::Span<T> taus) {
  FactorSome(lines, taus, 0, lines.rows);
}

int64_t FactorLinesScratchBytes(int64_t lines, int64_t length, int64_t element_bytes) {
  if (!AreDivided(lines, length, element_bytes)) return 0;
  return ApplyReflectorsScratchBytes(lines / 2, length, (lines + 1) / 2, element_bytes);
}

#define HLO_INSTANTIATE(T)                                                     \
  template class ReflectorBlock<T>;                                            \
  template void ApplyReflectors(const Reflectors<T>&, const Matrix<T>&, bool); \
  template void FactorLines(const Matrix<T>&, absl::Span<T>);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::lapack
