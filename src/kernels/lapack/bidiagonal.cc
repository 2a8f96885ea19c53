#include "kernels/lapack/bidiagonal.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/lapack/reflectors.h"
#include "kernels/lapack/scratch.h"

namespace hlo::lapack {
namespace {

// The vectors of a column block that overlap a range of columns.
template <class T>
struct BlockPart {
  int64_t block;
  int first, count;
};
template <class T>
BlockPart<T> PartOf(int64_t block, int64_t first_column, int64_t columns) {
  constexpr int64_t kWidth = ColumnBlocks<T>::kWidth, kCount = kElements<T>;
  const int64_t from = std::max<int64_t>(first_column - block * kWidth, 0) / kCount;
  const int64_t to = CeilDiv(std::min(columns - block * kWidth, kWidth), kCount);
  return {block, static_cast<int>(from), static_cast<int>(to - from)};
}

template <class T>
Lanes Load(const T* from) {
  return Whole<T>{}.Load(from);
}

// The delayed rank-2 update a -= u r + q conjugate_v. Finished columns of r and conjugate_v are 0.
template <class T>
struct Pending {
  T *u, *q, *r, *conjugate_v;
};

// Applies the pending update to a part of the rows from `row` on, and computes sum = x^H a for these rows.
template <class T, int kCount>
void Update(const ColumnBlocks<T>& a, const BlockPart<T>& part, const Pending<T>& pending, int64_t row,
            const T* x, T* sum) {
  const int64_t offset = part.first * kElements<T>, column = part.block * a.kWidth + offset;
  Lanes r[kCount], v[kCount], total[kCount];
  for (int k = 0; k < kCount; ++k) {
    r[k] = Load(pending.r + column + k * kElements<T>);
    v[k] = Load(pending.conjugate_v + column + k * kElements<T>);
    total[k] = Lanes{};
  }
  T* element = a.Row(part.block, row) + offset;
  for (int64_t i = row; i < a.rows; ++i, element += a.kWidth) {
    const Scalar<T> by_r(pending.u[i]), by_v(pending.q[i]), by_a(Conj(x[i]));
    for (int k = 0; k < kCount; ++k) {
      const Lanes value = Load(element + k * kElements<T>) - by_r * r[k] - by_v * v[k];
      Whole<T>{}.Store(element + k * kElements<T>, value);
      total[k] += by_a * value;
    }
  }
  for (int k = 0; k < kCount; ++k) Whole<T>{}.Store(sum + column + k * kElements<T>, total[k]);
}

// Adds the products of a part of each row i >= `row` with conj(x) to sums[i], without the horizontal sum.
template <class T, int kCount>
void Multiply(const ColumnBlocks<T>& a, const BlockPart<T>& part, int64_t row, const T* x, DotSum<T>* sums) {
  const int64_t offset = part.first * kElements<T>, column = part.block * a.kWidth + offset;
  Lanes factors[kCount];
  for (int k = 0; k < kCount; ++k) factors[k] = Load(x + column + k * kElements<T>);
  const T* element = a.Row(part.block, row) + offset;
  for (int64_t i = row; i < a.rows; ++i, element += a.kWidth) {
    DotSum<T> sum = sums[i];
    for (int k = 0; k < kCount; ++k) sum.Add(factors[k], Load(element + k * kElements<T>));
    sums[i] = sum;
  }
}

// Calls f with the number of vectors of a part as a compile-time constant.
template <class F>
void WithCount(int count, F&& f) {
  static_assert(ColumnBlocks<double>::kVectors == 4);
  if (count == 4) return f(std::integral_constant<int, 4>());
  if (count == 3) return f(std::integral_constant<int, 3>());
  if (count == 2) return f(std::integral_constant<int, 2>());
  f(std::integral_constant<int, 1>());
}

template <class T>
class Reduction {
 public:
  explicit Reduction(const BidiagonalProblem<T>& problem)
      : p_(problem),
        a_(problem.a),
        width_(a_.BlockCount(a_.columns) * a_.kWidth),
        lines_(3 * width_ + 3 * PaddedLength<T>(a_.rows)),
        sums_(PieceCount(a_.rows * a_.columns) * a_.rows) {
    std::fill_n(lines_.data(), lines_.size(), T(0));
    pending_.r = lines_.data();
    pending_.conjugate_v = pending_.r + width_;
    next_r_ = pending_.conjugate_v + width_;
    pending_.u = next_r_ + width_;
    pending_.q = pending_.u + PaddedLength<T>(a_.rows);
    column_ = pending_.q + PaddedLength<T>(a_.rows);
    for (int64_t i = 0; i < a_.rows; ++i) column_[i] = a_(i, 0);
  }

  // Computes the reflector that zeroes column j below (j, j); column_ holds the updated column.
  double ReduceColumn(int64_t j) {
    T* x = p_.left + j * p_.left_stride;
    std::copy(column_ + j, column_ + a_.rows, x + j);
    const auto [beta, tau] = ReflectScaled(x, j, a_.rows);
    p_.left_taus[j] = tau;
    return beta;
  }

  // Computes the reflector that zeroes row j right of (j, j + 1), if there is such a column.
  double ReduceRow(int64_t j) {
    const int64_t first = j + 1, last_block = a_.BlockCount(a_.columns), first_block = first / a_.kWidth;
    const int64_t pieces =
        std::min(PieceCount((a_.rows - j) * (a_.columns - first)), last_block - first_block);
    const auto elements = static_cast<double>((a_.rows - j) * (a_.columns - first));
    std::fill(p_.right + j * p_.right_stride, p_.right + j * p_.right_stride + width_, T(0));
    ParallelFor(pieces, elements * (kIsComplex<T> ? 0.6 : 0.2), [&](int64_t i) {
      DotSum<T>* sums = sums_.data() + i * a_.rows;
      std::fill(sums + first, sums + a_.rows, DotSum<T>{});
      const auto begin = [&](int64_t k) { return first_block + (last_block - first_block) * k / pieces; };
      for (int64_t block = begin(i); block < begin(i + 1); ++block)
        PassBlock(j, PartOf<T>(block, first, a_.columns), sums);
    });
    std::swap(pending_.r, next_r_);
    std::fill(pending_.r + first_block * a_.kWidth, pending_.r + first, T(0));
    std::copy(p_.left + j * p_.left_stride + j, p_.left + j * p_.left_stride + a_.rows, pending_.u + j);
    return FinishRow(j, pieces);
  }

 private:
  // Applies the pending update to a part of a, stores the conjugate of the new row j in `right`, and
  // multiplies the following rows with it.
  void PassBlock(int64_t j, const BlockPart<T>& part, DotSum<T>* sums) {
    const int64_t begin = std::max(j + 1, part.block * a_.kWidth);
    const int64_t end = std::min(a_.columns, (part.block + 1) * a_.kWidth);
    T* right = p_.right + j * p_.right_stride;
    WithCount(part.count, [&](auto count) {
      Update<T, count>(a_, part, pending_, j, p_.left + j * p_.left_stride, next_r_);
      Scale(Conj(p_.left_taus[j]), next_r_, begin, end);
      const T* row = a_.Row(part.block, j) - part.block * a_.kWidth;
      // DotSum conjugates its first argument.
      for (int64_t c = begin; c < end; ++c) right[c] = row[c] - next_r_[c];
      Multiply<T, count>(a_, part, j + 1, right, sums);
    });
  }

  // Computes the row's reflector v = (x - beta e) / (alpha - beta) and q = tau a v from a x.
  double FinishRow(int64_t j, int64_t pieces) {
    const int64_t first = j + 1;
    T* x = p_.right + j * p_.right_stride;
    const T dot = Dot(x, pending_.r, first, a_.columns);
    for (int64_t c = first; c < a_.columns; ++c) x[c] = Conj(x[c]);
    const T alpha = x[first];
    const auto [beta, tau] = ReflectScaled(x, first, a_.columns);
    p_.right_taus[j] = tau;
    const T factor = tau == T(0) ? T(0) : tau / (alpha - beta);
    std::fill(pending_.conjugate_v + first / a_.kWidth * a_.kWidth, pending_.conjugate_v + first, T(0));
    for (int64_t c = first; c < a_.columns; ++c) pending_.conjugate_v[c] = Conj(x[c]);
    for (int64_t i = first; i < a_.rows; ++i) {
      DotSum<T> sum = sums_.data()[i];
      for (int64_t k = 1; k < pieces; ++k) sum.Add(sums_.data()[k * a_.rows + i]);
      const T element = a_(i, first) - Times(pending_.u[i], pending_.r[first]);
      const T product = sum.Total() - Times(pending_.u[i], dot) - beta * element;
      pending_.q[i] = Times(factor, product);
      column_[i] = element - pending_.q[i];
    }
    return beta;
  }

  const BidiagonalProblem<T> p_;
  const ColumnBlocks<T> a_;
  const int64_t width_;
  Scratch<T> lines_;
  Scratch<DotSum<T>> sums_;
  Pending<T> pending_;
  T *next_r_, *column_;
};

}  // namespace

template <class T>
void Bidiagonalise(const BidiagonalProblem<T>& problem, double* diagonal, double* above) {
  Reduction<T> reduction(problem);
  for (int64_t j = 0; j < problem.a.columns; ++j) {
    diagonal[j] = reduction.ReduceColumn(j);
    if (j + 1 < problem.a.columns) above[j] = reduction.ReduceRow(j);
  }
}

int64_t BidiagonaliseScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes) {
  const int64_t lines = 3 * (columns + ColumnBlocks<double>::kWidth + PaddedLength(rows, element_bytes));
  return lines * element_bytes +
         PieceCount(rows * columns) * rows * static_cast<int64_t>(sizeof(DotSum<Complex>));
}

#define HLO_INSTANTIATE(T) template void Bidiagonalise(const BidiagonalProblem<T>&, double*, double*);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::lapack
