#include "kernels/factor/qr.h"

#include <algorithm>

#include "kernels/factor/product.h"
#include "kernels/factor/reflectors.h"
#include "kernels/factor/scratch.h"

namespace hlo::factor {
namespace {

// Reflectors that are applied together: the more, the faster products are, and the more is done besides.
int64_t BlockOf(int64_t reflectors) { return std::clamp<int64_t>(reflectors / 160 * 16, 32, 64); }
// Matrices that lie as lines throughout, reflectors being applied one by one: those of one block, and those
// that stay next to the processor.
constexpr int64_t kNear = 96 << 10;
bool IsNear(int64_t rows, int64_t columns, int64_t element_bytes) {
  return columns <= BlockOf(columns) || columns * PaddedLength(rows, element_bytes) * element_bytes <= kNear;
}

struct ScratchCounts {
  int64_t lines = 0, square = 0, product = 0;  // In elements.
  int64_t total() const { return lines + 2 * square + 2 * product; }
};
// For blocks of reflectors, applied to so many columns.
ScratchCounts CountForBlocks(int64_t rows, int64_t reflectors, int64_t columns, int64_t element_bytes) {
  const int64_t block = std::min(BlockOf(reflectors), reflectors);
  return {block * PaddedLength(rows, element_bytes), block * PaddedLength(block, element_bytes),
          block * columns};
}
ScratchCounts CountForQr(int64_t rows, int64_t columns, int64_t element_bytes) {
  if (IsNear(rows, columns, element_bytes)) return {columns * PaddedLength(rows, element_bytes)};
  return CountForBlocks(rows, std::min(rows, columns), columns, element_bytes);
}
bool IsNearProduct(int64_t rows, int64_t reflectors, int64_t others, int64_t element_bytes) {
  return (reflectors + others) * PaddedLength(rows, element_bytes) * element_bytes <= kNear;
}
ScratchCounts CountForProduct(int64_t rows, int64_t reflectors, int64_t others, int64_t element_bytes) {
  if (IsNearProduct(rows, reflectors, others, element_bytes))
    return {(reflectors + others) * PaddedLength(rows, element_bytes)};
  return CountForBlocks(rows, reflectors, others, element_bytes);
}

// Some reflectors H(0) H(1) ... = 1 - v t v^H, and memory to apply them.
template <class T>
class Block {
 public:
  explicit Block(const ScratchCounts& counts) : counts_(counts), memory_(counts.total()) {}

  // Memory of so many lines.
  Matrix<T> Lines(int64_t count, int64_t length) {
    return {memory_.data(), count, length, PaddedLength<T>(length), 1};
  }
  // Takes reflectors as they are stored.
  void Read(const Matrix<const T>& columns, absl::Span<const T> taus) {
    const Matrix<T> lines = Lines(columns.columns, columns.rows);
    ReadLines(columns, lines);
    CompleteReflectors(lines);
    Set(lines, taus);
  }
  // The columns of v, whole.
  void Set(const Matrix<T>& lines, absl::Span<const T> taus);

  // c = q c or q^H c
  void ApplyLeft(const Matrix<T>& c, bool adjoint) {
    const Matrix<T> w = Memory(0, count(), c.columns);
    Product(v_adjoint(), Plain(c), w);
    Subtract(w, c, adjoint);
  }
  // c = c q or c q^H
  void ApplyRight(const Matrix<T>& c, bool adjoint) {
    const Matrix<T> w = Memory(0, c.rows, count()), tw = Memory(1, c.rows, count());
    Product(Plain(c), v(), w);
    Product(Plain(w), t(adjoint), tw);
    SubtractProduct(Plain(tw), v_adjoint(), c);
  }
  // The columns of q that c has, if c is [0 0; 0 d] and these reflectors come before those of d.
  void Extend(const Matrix<T>& c);

 private:
  int64_t count() const { return lines_.rows; }
  Source<T> v() const { return Plain(lines_.Transposed()); }
  Source<T> v_adjoint() const { return Plain(lines_).Conjugate(); }
  Source<T> t(bool adjoint) const { return adjoint ? Plain(t_).Conjugate() : Plain(t_.Transposed()); }
  // c -= v t w
  void Subtract(const Matrix<T>& w, const Matrix<T>& c, bool adjoint) {
    const Matrix<T> tw = Memory(1, w.rows, w.columns);
    Product(t(adjoint), Plain(w), tw);
    SubtractProduct(v(), Plain(tw), c);
  }
  // Memory for one of two products.
  Matrix<T> Memory(int64_t number, int64_t rows, int64_t columns) {
    T* data = memory_.data() + counts_.lines + 2 * counts_.square + number * counts_.product;
    return {data, rows, columns, columns, 1};
  }

  ScratchCounts counts_;
  Scratch<T> memory_;
  Matrix<T> lines_;  // Of v.
  Matrix<T> t_;      // The transpose of t.
};

template <class T>
void Block<T>::Set(const Matrix<T>& lines, absl::Span<const T> taus) {
  lines_ = lines;
  const int64_t n = count(), stride = PaddedLength<T>(n);
  T* data = memory_.data() + counts_.lines;
  const Matrix<T> gram{data, n, n, stride, 1};
  t_ = {data + counts_.square, n, n, stride, 1};
  Product(v_adjoint(), v(), gram);
  // Column j of t: -tau t v^H v(j), and tau.
  for (int64_t j = 0; j < n; ++j) {
    std::fill_n(&t_(j, 0), stride, T(0));
    T* factors = &gram(j, 0);
    for (int64_t k = 0; k < j; ++k) factors[k] = Times(-taus[j], linalg::Conj(factors[k]));
    CombineLines(t_.Block(0, 0, j, j), factors, &t_(j, 0));
    t_(j, j) = taus[j];
  }
}

template <class T>
void Block<T>::Extend(const Matrix<T>& c) {
  const int64_t n = count(), right = c.columns - n, below = c.rows - n;
  for (int64_t i = 0; i < c.rows; ++i) {
    std::fill_n(&c(i, 0), n, T(0));
    if (i < n) c(i, i) = T(1);
  }
  const Matrix<T> w = Memory(0, n, c.columns);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) w(i, j) = linalg::Conj(lines_(i, j));
  }
  if (right > 0) {
    const Source<T> v_below = Plain(lines_.Block(0, n, n, below)).Conjugate();
    Product(v_below, Plain(c.Block(n, n, below, right)), w.Block(0, n, n, right));
  }
  Subtract(w, c, false);
}

// Columns of v go below the diagonal.
template <class T>
void StoreReflectors(const Matrix<T>& v, const Matrix<T>& a) {
  const int64_t n = v.rows;
  for (int64_t i = 1; i < std::min(n, a.rows); ++i) {
    for (int64_t j = 0; j < i; ++j) a(i, j) = v(j, i);
  }
  WriteLines(v, n, a);
}

// Geqrf of some columns, by way of lines. Returns those that hold the columns of v, whole.
template <class T>
Matrix<T> FactorPanel(const Matrix<T>& a, const Matrix<T>& lines, absl::Span<T> taus) {
  ReadLines(a.AsConst(), lines);
  const auto k = static_cast<int64_t>(taus.size());
  for (int64_t j = 0; j < k; ++j) {
    const Reflector<T> reflector = Reflect(lines, j, j);
    taus[j] = reflector.tau;
    const int64_t right = lines.rows - j - 1;
    ApplyReflector(&lines(j, 0), j, linalg::Conj(reflector.tau), lines.Block(j + 1, 0, right, lines.columns));
    a(j, j) = reflector.beta;
    for (int64_t c = j + 1; c <= j + right; ++c) a(j, c) = lines(c, j);
  }
  const Matrix<T> v = lines.Block(0, 0, k, lines.columns);
  StoreReflectors(v, a);
  WriteLines(lines.Block(k, 0, lines.rows - k, lines.columns), k, a.Block(0, k, a.rows, lines.rows - k));
  return v;
}

// Orgqr by way of lines.
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

// lines = q lines or q^H lines, by v's columns
template <class T>
void MultiplyLines(const Matrix<T>& v, absl::Span<const T> taus, const Matrix<T>& lines, bool adjoint) {
  for (int64_t step = 0; step < v.rows; ++step) {
    const int64_t j = adjoint ? step : v.rows - 1 - step;
    ApplyReflector(&v(j, 0), j, adjoint ? linalg::Conj(taus[j]) : taus[j], lines);
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
  // Rows are multiplied as the columns of an adjoint matrix.
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
  return CountForQr(rows, columns, element_bytes).total() * element_bytes;
}

int64_t OrmqrScratchBytes(int64_t rows, int64_t reflectors, int64_t others, int64_t element_bytes) {
  return CountForProduct(rows, reflectors, others, element_bytes).total() * element_bytes;
}

template <class T>
void Geqrf(Matrix<T> a, absl::Span<T> taus) {
  const auto k = static_cast<int64_t>(taus.size());
  if (k == 0) return;
  Block<T> block(CountForQr(a.rows, a.columns, sizeof(T)));
  const bool is_near = IsNear(a.rows, a.columns, sizeof(T));
  const int64_t end = is_near ? a.columns : k, step = is_near ? end : BlockOf(k);
  for (int64_t j = 0; j < k; j += step) {
    const Matrix<T> panel = a.Block(j, j, a.rows - j, std::min(step, end - j));
    const absl::Span<T> panel_taus = taus.subspan(j, std::min(step, k - j));
    const Matrix<T> v = FactorPanel(panel, block.Lines(panel.columns, panel.rows), panel_taus);
    const int64_t right = a.columns - j - panel.columns;
    if (right == 0) continue;
    block.Set(v, panel_taus);
    block.ApplyLeft(a.Block(j, j + panel.columns, panel.rows, right), true);
  }
}

template <class T>
void Orgqr(Matrix<T> a, absl::Span<const T> taus) {
  if (a.rows == 0 || a.columns == 0) return;
  const int64_t k = ReflectorCount(taus.size(), a.rows, a.columns), step = BlockOf(k);
  Block<T> block(CountForQr(a.rows, a.columns, sizeof(T)));
  if (IsNear(a.rows, a.columns, sizeof(T)))
    return GenerateNear(a, taus.first(k), block.Lines(a.columns, a.rows));
  for (int64_t i = 0; i < a.rows; ++i) {
    std::fill(&a(i, 0) + k, &a(i, 0) + a.columns, T(0));
    if (i >= k && i < a.columns) a(i, i) = T(1);
  }
  for (int64_t end = k; end > 0;) {
    const int64_t j = (end - 1) / step * step;
    block.Read(a.Block(j, j, a.rows - j, end - j).AsConst(), taus.subspan(j, end - j));
    for (int64_t i = 0; i < j; ++i) std::fill(&a(i, j), &a(i, 0) + end, T(0));
    block.Extend(a.Block(j, j, a.rows - j, a.columns - j));
    end = j;
  }
}

template <class T>
void Ormqr(Matrix<const T> reflectors, absl::Span<const T> taus, Matrix<T> c, bool left, bool adjoint) {
  const int64_t rows = reflectors.rows, others = left ? c.columns : c.rows;
  const int64_t k = ReflectorCount(taus.size(), rows, reflectors.columns), step = BlockOf(k);
  if (k == 0 || others == 0) return;
  Block<T> block(CountForProduct(rows, k, others, sizeof(T)));
  if (IsNearProduct(rows, k, others, sizeof(T)))
    return MultiplyNear(reflectors, taus.first(k), c, left, adjoint, block.Lines(k + others, rows));
  // q c applies the last reflectors first, q^H c the first ones; on the right it is the other way round.
  const bool forwards = left == adjoint;
  const int64_t blocks = (k + step - 1) / step;
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t j = (forwards ? i : blocks - 1 - i) * step, count = std::min(step, k - j);
    block.Read(reflectors.Block(j, j, rows - j, count), taus.subspan(j, count));
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

}  // namespace hlo::factor
