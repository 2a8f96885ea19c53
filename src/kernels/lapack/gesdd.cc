#include <algorithm>
#include <functional>
#include <numeric>

#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/lapack/bidiagonal.h"
#include "kernels/lapack/bidiagonal_dc.h"
#include "kernels/lapack/dense_copy.h"
#include "kernels/lapack/reflector_blocks.h"
#include "kernels/lapack/scratch.h"
#include "kernels/lapack/small_spectra.h"
#include "kernels/lapack/spectra.h"

namespace hlo::lapack {
namespace {

// True if a QR factorisation precedes the bidiagonal reduction. For small matrices this is LAPACK's
// condition, because the signs of vectors depend on it.
bool IsTall(int64_t rows, int64_t columns, bool is_complex) {
  if (columns > kMaxSignedRows) return 2 * rows >= 3 * columns;
  return rows >= (is_complex ? columns * 17 / 9 : columns * 11 / 6);
}

// Fills x with the singular vectors of the bidiagonal matrix, in descending order of the values, completed by
// columns of the identity, and applies the reflectors to it.
template <class T>
void SingularVectors(const Matrix<const double>& rows, const int64_t* order,
                     std::initializer_list<Reflectors<T>> reflectors, const Matrix<T>& x) {
  const int64_t n = rows.rows;
  InUnitStride(x, [&](const Matrix<T>& y) {
    FillIdentity(y);
    ForEachElementInTiles(n, n, [&](int64_t i, int64_t j) { y(i, j) = T(rows(order[n - 1 - j], i)); });
    for (const Reflectors<T>& some : reflectors) ApplyReflectors(some, y.Block(0, 0, some.length, y.columns));
  });
}

// The singular value decomposition of a matrix with at least as many rows as columns.
template <class T>
class TallSvd {
 public:
  // If it is the `adjoint` of the matrix, and if it is tall, r^H is reduced instead of r.
  TallSvd(int64_t rows, int64_t columns, bool adjoint)
      : rows_(rows),
        columns_(columns),
        reduced_rows_(IsTall(rows, columns, kIsComplex<T>) ? columns : rows),
        reduces_adjoint_(adjoint && reduced_rows_ < rows),
        line_stride_(PaddedLength<T>(rows)),
        left_stride_(PaddedLength<T>(reduced_rows_)),
        right_stride_(ColumnBlocks<T>::BlockCount(columns) * ColumnBlocks<T>::kWidth),
        lines_(IsTall(rows, columns, kIsComplex<T>) ? columns * line_stride_ : 0),
        matrix_(ColumnBlocks<T>::ElementCount(reduced_rows_, columns)),
        left_(columns * left_stride_),
        right_(columns * right_stride_),
        taus_(3 * columns) {
    // Zeroes the padding columns.
    const int64_t last = ColumnBlocks<T>::BlockCount(columns) - 1;
    std::fill(Blocks().Row(last, 0), matrix_.data() + matrix_.size(), T(0));
  }

  // Returns false if an element is not finite.
  bool Read(const Matrix<const T>& a, bool adjoint) {
    const auto read = [&](auto&& element) {
      ForEachElementInTiles(a.rows, a.columns, [&](int64_t i, int64_t j) {
        if (adjoint)
          element(j, i) = Conj(a(i, j));
        else
          element(i, j) = a(i, j);
      });
    };
    if (lines_.size() == 0) {
      read(Blocks());
      return Prepare(matrix_.data(), 1, matrix_.size(), 0);
    }
    read([this](int64_t i, int64_t j) -> T& { return lines_.data()[j * line_stride_ + i]; });
    return Prepare(lines_.data(), columns_, rows_, line_stride_);
  }

  void Reduce(double* diagonal, double* above) {
    if (lines_.size() > 0) MakeTriangle();
    Bidiagonalise<T>({Blocks(), left_.data(), left_stride_, right_.data(), right_stride_, taus_.data(),
                      taus_.data() + columns_},
                     diagonal, above);
  }

  // True if the left singular vectors of the bidiagonal matrix are those of r^H.
  bool reduces_adjoint() const { return reduces_adjoint_; }

  // Compute the vectors of the matrix from those of the bidiagonal matrix, which are rows.
  void TransformLeft(const Matrix<const double>& left, const Matrix<const double>& right,
                     const int64_t* order, const Matrix<T>& u) const {
    const Reflectors<T> inner = reduces_adjoint_ ? Right() : Left();
    const Matrix<const double>& rows = reduces_adjoint_ ? right : left;
    if (lines_.size() == 0) return SingularVectors<T>(rows, order, {inner}, u);
    const Reflectors<T> outer{lines_.data(), line_stride_, columns_, rows_, 0, taus_.data() + 2 * columns_};
    SingularVectors<T>(rows, order, {inner, outer}, u);
  }
  void TransformRight(const Matrix<const double>& left, const Matrix<const double>& right,
                      const int64_t* order, const Matrix<T>& v) const {
    SingularVectors<T>(reduces_adjoint_ ? left : right, order, {reduces_adjoint_ ? Left() : Right()}, v);
  }

  double scale() const { return scale_; }

 private:
  ColumnBlocks<T> Blocks() const { return {matrix_.data(), reduced_rows_, columns_}; }
  Reflectors<T> Left() const {
    return {left_.data(), left_stride_, columns_, reduced_rows_, 0, taus_.data()};
  }
  Reflectors<T> Right() const {
    return {right_.data(), right_stride_, columns_ - 1, columns_, 1, taus_.data() + columns_};
  }

  bool Prepare(T* lines, int64_t count, int64_t length, int64_t stride) {
    LargestComponent largest;
    for (int64_t i = 0; i < count; ++i) largest.Add(lines + i * stride, 0, length);
    if (std::isnan(largest.value())) return false;
    scale_ = ScaleFor(largest.value());
    for (int64_t i = 0; scale_ != 1 && i < count; ++i) Scale(T(scale_), lines + i * stride, 0, length);
    return true;
  }

  void MakeTriangle() {
    const Matrix<T> lines{lines_.data(), columns_, rows_, line_stride_, 1};
    for (int64_t j = 0; j < columns_; ++j) std::fill(&lines(j, 0) + rows_, &lines(j, 0) + line_stride_, T(0));
    FactorLines(lines, absl::MakeSpan(taus_.data() + 2 * columns_, columns_));
    const ColumnBlocks<T> blocks = Blocks();
    ForEachElementInTiles(columns_, columns_, [&](int64_t i, int64_t j) {
      if (reduces_adjoint_)
        blocks(i, j) = i >= j ? Conj(lines(i, j)) : T(0);
      else
        blocks(i, j) = i <= j ? lines(j, i) : T(0);
    });
  }

  int64_t rows_, columns_, reduced_rows_;
  bool reduces_adjoint_;
  int64_t line_stride_, left_stride_, right_stride_;
  Scratch<T> lines_, matrix_, left_, right_, taus_;
  double scale_ = 1;
};

template <class T>
int64_t NoSingularValues(absl::Span<double> s, const Matrix<T>& u, const Matrix<T>& v) {
  std::fill(s.begin(), s.end(), kNan);
  Fill(u, T(kNan));
  Fill(v, T(kNan));
  return 1;
}

int64_t ValuesAlone(int64_t n, double* diagonal, double* above) {
  const int64_t info = BidiagonalQr(n, diagonal, above, {}, {});
  for (int64_t i = 0; i < n; ++i) diagonal[i] = std::abs(diagonal[i]);
  std::sort(diagonal, diagonal + n);
  return info;
}

// Negates the pairs of vectors that have another sign than LAPACK's. Vectors of negligible singular values
// have independent signs.
void SetSigns(const Matrix<double>& left, const Matrix<double>& right, const int64_t* order,
              const double* values, const SingularVectorList& wanted) {
  const int64_t n = left.rows;
  if (wanted.left.empty()) return;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t i = order[n - 1 - k];
    double *x = &left(i, 0), *y = &right(i, 0);
    const double by_left = std::inner_product(x, x + n, wanted.left.at(k), 0.0);
    const double by_right = std::inner_product(y, y + n, wanted.right.at(k), 0.0);
    const bool is_negligible = values[i] <= kUnitRoundoff * values[order[n - 1]];
    if ((is_negligible ? by_left : by_left + by_right) < 0) std::transform(x, x + n, x, std::negate<>());
    if ((is_negligible ? by_right : by_left + by_right) < 0) std::transform(y, y + n, y, std::negate<>());
  }
}

template <class T>
SingularVectorList SignedVectors(const TallSvd<T>& svd, const cpu::CachedVector<double>& diagonal,
                                 const cpu::CachedVector<double>& above, bool wide, RealPrecision precision) {
  const auto n = static_cast<int64_t>(diagonal.size());
  if (n > kMaxSignedRows) return {};
  cpu::CachedVector<double> d(n), e(n);
  for (int64_t i = 0; i < n; ++i) d[i] = diagonal[i] / svd.scale();
  for (int64_t i = 0; i + 1 < n; ++i) e[i] = above[i] / svd.scale();
  // LAPACK reduces a wide matrix to the adjoint of the form that its adjoint has.
  const bool lower = wide && !svd.reduces_adjoint();
  SingularVectorList list = BdsdcVectors(n, d.data(), e.data(), lower, precision);
  if (lower) std::swap(list.left, list.right);
  return list;
}

}  // namespace

template <class T>
int64_t Gesdd(Matrix<const T> a, absl::Span<double> s, Matrix<T> u, Matrix<T> v, RealPrecision precision) {
  const bool wide = a.rows < a.columns;
  if (wide) std::swap(u, v);
  const auto n = static_cast<int64_t>(s.size());
  if (n == 0) {
    FillIdentity(u);
    FillIdentity(v);
    return 0;
  }
  TallSvd<T> svd(std::max(a.rows, a.columns), n, wide);
  if (!svd.Read(a, wide)) return NoSingularValues(s, u, v);
  cpu::CachedVector<double> diagonal(n), above(n);
  svd.Reduce(diagonal.data(), above.data());
  if (u.data == nullptr && v.data == nullptr) {
    if (ValuesAlone(n, diagonal.data(), above.data()) != 0) return NoSingularValues(s, u, v);
    for (int64_t i = 0; i < n; ++i) s[i] = diagonal[n - 1 - i] / svd.scale();
    return 0;
  }
  const SingularVectorList wanted = SignedVectors(svd, diagonal, above, wide, precision);
  const int64_t stride = PaddedLength<double>(n);
  const Scratch<double> rows(2 * n * stride);
  cpu::CachedVector<int64_t> order(n);
  const Matrix<double> left{rows.data(), n, n, stride, 1}, right{rows.data() + n * stride, n, n, stride, 1};
  if (BidiagonalSingular(n, diagonal.data(), above.data(), left, right, order.data()) != 0)
    return NoSingularValues(s, u, v);
  SetSigns(left, right, order.data(), diagonal.data(), wanted);
  for (int64_t i = 0; i < n; ++i) s[i] = diagonal[order[n - 1 - i]] / svd.scale();
  if (u.data != nullptr) svd.TransformLeft(left.AsConst(), right.AsConst(), order.data(), u);
  if (v.data != nullptr) svd.TransformRight(left.AsConst(), right.AsConst(), order.data(), v);
  return 0;
}

int64_t GesddScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes, bool u, bool v) {
  constexpr int64_t kDouble = sizeof(double);
  const int64_t m = std::max(rows, columns), n = std::min(rows, columns);
  const int64_t stride = PaddedLength(n, element_bytes) + ColumnBlocks<double>::kWidth;
  const int64_t line_stride = PaddedLength(m, element_bytes);
  const int64_t lines = IsTall(m, n, element_bytes > kDouble) ? n * line_stride + 3 * n * stride
                                                              : (m + n) * stride + n * line_stride;
  const int64_t matrix = (lines + 24 * line_stride) * element_bytes;
  const int64_t back = ApplyReflectorsScratchBytes(n, m, m, element_bytes);
  const int64_t reduction =
      BidiagonaliseScratchBytes(m, n, element_bytes) + FactorLinesScratchBytes(n, m, element_bytes);
  if (!u && !v) return matrix + reduction;
  return matrix + 2 * n * stride * kDouble + std::max({reduction, BidiagonalSingularScratchBytes(n), back});
}

#define HLO_INSTANTIATE(T) \
  template int64_t Gesdd(Matrix<const T>, absl::Span<double>, Matrix<T>, Matrix<T>, RealPrecision);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::lapack
