#include "kernels/factor/bidiagonal.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/kept_vector.h"
#include "kernels/factor/householder_blocks.h"

namespace hlo::factor {
namespace {

// Elements that one thread takes, at least, and pieces of a matrix, at most.
constexpr int64_t kPieceElements = 32 << 10;
constexpr int64_t kMostPieces = 32;
template <class T>
constexpr int kRowsAtOnce = kIsComplex<T> ? 2 : 4;

int64_t PieceCount(int64_t rows, int64_t columns) {
  return std::clamp<int64_t>(rows * columns / kPieceElements, 1, kMostPieces);
}

// What is left of the matrix, from row and column `first` on, and what it lacks: a -= u r + q v^H.
template <class T>
struct Rest {
  T* a;
  int64_t stride, rows, columns, first;
  T *u, *r, *q, *conjugate_v;

  template <class F>
  void EachPiece(int64_t row, F&& f) const {
    const int64_t count = rows - row, pieces = PieceCount(count, columns - first);
    const auto elements = static_cast<double>(count * (columns - first));
    ParallelFor(pieces, elements * (kIsComplex<T> ? 0.4 : 0.15),
                [&](int64_t i) { f(i, row + count * i / pieces, row + count * (i + 1) / pieces); });
  }

  // Rows i, ..., i + kCount - 1 become whole, and sum += x^H a.
  template <int kCount>
  void Update(int64_t i, const T* x, T* sum) const {
    const auto each = [&]<size_t... k>(std::index_sequence<k...>) {
      const Scalar<T> by_r[] = {Scalar<T>(u[i + k])...}, by_v[] = {Scalar<T>(q[i + k])...};
      const Scalar<T> by_a[] = {Scalar<T>(Conj(x[i + k]))...};
      EachVector<T>(first, columns, [&](int64_t c, auto part) {
        const Lanes above = part.Load(r + c), beside = part.Load(conjugate_v + c);
        Lanes total = part.Load(sum + c);
        const auto row = [&](T * element, size_t j) __attribute__((always_inline)) {
          const Lanes value = part.Load(element) - by_r[j] * above - by_v[j] * beside;
          part.Store(element, value);
          total += by_a[j] * value;
        };
        (row(a + (i + k) * stride + c, k), ...);
        part.Store(sum + c, total);
      });
    };
    each(std::make_index_sequence<kCount>());
  }

  // All rows from `row` on become whole, and sum = x^H a; `parts` holds a line of `stride` elements for each
  // piece but the first.
  void UpdateAll(int64_t row, const T* x, T* sum, T* parts) const {
    EachPiece(row, [&](int64_t piece, int64_t begin, int64_t end) {
      T* to = piece == 0 ? sum : parts + (piece - 1) * stride;
      std::fill(to + first, to + columns, T(0));
      int64_t i = begin;
      for (; i + kRowsAtOnce<T> <= end; i += kRowsAtOnce<T>) Update<kRowsAtOnce<T>>(i, x, to);
      for (; i < end; ++i) Update<1>(i, x, to);
    });
    const int64_t pieces = PieceCount(rows - row, columns - first);
    for (int64_t i = 1; i < pieces; ++i) AddMultiple<T>(T(1), parts + (i - 1) * stride, sum, first, columns);
  }

  // Elements i, ..., i + kCount - 1 of a v.
  template <int kCount>
  void Multiply(int64_t i, const T* conjugate, T* product) const {
    DotSum<T> sums[kCount];
    const auto each = [&]<size_t... k>(std::index_sequence<k...>) {
      EachVector<T>(first, columns, [&](int64_t c, auto part) {
        const Lanes factor = part.Load(conjugate + c);
        (sums[k].Add(factor, part.Load(a + (i + k) * stride + c)), ...);
      });
    };
    each(std::make_index_sequence<kCount>());
    for (int k = 0; k < kCount; ++k) product[i + k] = sums[k].Total();
  }

  void MultiplyAll(int64_t row, const T* conjugate, T* product) const {
    EachPiece(row, [&](int64_t, int64_t begin, int64_t end) {
      int64_t i = begin;
      for (; i + kRowsAtOnce<T> <= end; i += kRowsAtOnce<T>) Multiply<kRowsAtOnce<T>>(i, conjugate, product);
      for (; i < end; ++i) Multiply<1>(i, conjugate, product);
    });
  }
};

// A step's numbers: those that the rest of the matrix lacks change with it.
template <class T>
class Reduction {
 public:
  explicit Reduction(const BidiagonalProblem<T>& problem)
      : p_(problem),
        lines_(3 * PaddedLength<T>(problem.columns) + 2 * PaddedLength<T>(problem.rows)),
        parts_((PieceCount(problem.rows, problem.columns) - 1) * problem.stride) {
    std::fill(lines_.begin(), lines_.end(), T(0));
    r_ = lines_.data();
    conjugate_v_ = r_ + PaddedLength<T>(p_.columns);
    sum_ = conjugate_v_ + PaddedLength<T>(p_.columns);
    q_ = sum_ + PaddedLength<T>(p_.columns);
    u_ = q_ + PaddedLength<T>(p_.rows);
  }

  // Zeros under (j, j): what the reflector gives for it.
  double ReduceColumn(int64_t j) {
    T* x = p_.left + j * p_.left_stride;
    for (int64_t i = j; i < p_.rows; ++i)
      x[i] = p_.a[i * p_.stride + j] - Times(u_[i], r_[j]) - Times(q_[i], conjugate_v_[j]);
    const auto [beta, tau] = MakeReflector(x, j, p_.rows);
    p_.left_taus[j] = tau;
    return beta;
  }

  // Zeros behind (j, j + 1); j + 1 is a column.
  double ReduceRow(int64_t j) {
    const T* x = p_.left + j * p_.left_stride;
    const int64_t first = j + 1, columns = p_.columns;
    const Rest<T> rest{p_.a, p_.stride, p_.rows, columns, first, u_, r_, q_, conjugate_v_};
    rest.UpdateAll(j, x, sum_, parts_.data());
    std::copy(x + j, x + p_.rows, u_ + j);
    Scale(Conj(p_.left_taus[j]), sum_, first, columns);
    std::swap(r_, sum_);
    T* row = p_.a + j * p_.stride;
    for (int64_t c = first; c < columns; ++c) row[c] = Conj(row[c] - r_[c]);
    const auto [beta, tau] = MakeReflector(row, first, columns);
    p_.right_taus[j] = tau;
    for (int64_t c = first; c < columns; ++c) conjugate_v_[c] = Conj(row[c]);
    rest.MultiplyAll(first, conjugate_v_, q_);
    AddMultiple<T>(-Dot(conjugate_v_, r_, first, columns), u_, q_, first, p_.rows);
    Scale(tau, q_, first, p_.rows);
    return beta;
  }

 private:
  BidiagonalProblem<T> p_;
  cpu::KeptVector<T> lines_, parts_;
  T *r_, *conjugate_v_, *sum_, *q_, *u_;
};

}  // namespace

template <class T>
void Bidiagonalise(const BidiagonalProblem<T>& problem, double* diagonal, double* above) {
  Reduction<T> reduction(problem);
  for (int64_t j = 0; j < problem.columns; ++j) {
    diagonal[j] = reduction.ReduceColumn(j);
    if (j + 1 < problem.columns) above[j] = reduction.ReduceRow(j);
  }
}

int64_t BidiagonaliseScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes) {
  const int64_t lines = 3 + PieceCount(rows, columns) - 1;
  return (lines * PaddedLength<double>(columns) + 2 * PaddedLength<double>(rows)) * element_bytes;
}

#define HLO_INSTANTIATE(T) template void Bidiagonalise(const BidiagonalProblem<T>&, double*, double*);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::factor
