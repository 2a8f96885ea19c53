// This file implements geqp3. Each step updates all following columns, because the next pivot depends on
// their remaining norms.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/lapack/qr.h"
#include "kernels/lapack/reflectors.h"
#include "kernels/lapack/scratch.h"

namespace hlo::lapack {
namespace {

template <class T>
class PivotedQr {
 public:
  PivotedQr(const Matrix<T>& a, absl::Span<int64_t> pivots)
      : a_(a),
        stride_(PaddedLength<T>(a.rows)),
        memory_(a.columns * stride_),
        lines_{memory_.data(), a.columns, a.rows, stride_, 1},
        order_(a.columns),
        norms_(a.columns),
        computed_norms_(a.columns) {
    std::iota(order_.begin(), order_.end(), 1);
    ReadLines(a.AsConst(), lines_);
    for (int64_t j = 0; j < a.columns; ++j) {
      if (pivots[j] != 0) Swap(fixed_++, j, 0);
    }
    for (int64_t j = 0; j < a.columns; ++j) ComputeNorm(j, 0);
  }

  T Step(int64_t j) {
    if (j >= fixed_) Swap(j, std::max_element(norms_.begin() + j, norms_.end()) - norms_.begin(), j);
    T* v = &lines_(j, 0);
    const auto [beta, tau] = Reflect(v, j, a_.rows);
    ApplyReflector(v, j, Conj(tau), lines_.Block(j + 1, 0, a_.columns - j - 1, a_.rows));
    a_(j, j) = beta;
    for (int64_t c = j + 1; c < a_.columns; ++c) {
      a_(j, c) = lines_(c, j);
      DowndateNorm(c, j);
    }
    return tau;
  }

  // Writes the rows of the columns that Step has not written, and the pivots.
  void Finish(int64_t steps, absl::Span<int64_t> pivots) const {
    for (int64_t c = 0; c < a_.columns; ++c) {
      for (int64_t i = std::min(c + 1, steps); i < a_.rows; ++i) a_(i, c) = lines_(c, i);
    }
    std::copy(order_.begin(), order_.end(), pivots.begin());
  }

 private:
  // Swaps two columns, of which the first `finished` rows of r are final.
  void Swap(int64_t i, int64_t j, int64_t finished) {
    if (i == j) return;
    std::swap_ranges(&lines_(i, 0), &lines_(i, 0) + a_.rows, &lines_(j, 0));
    for (int64_t row = 0; row < finished; ++row) std::swap(a_(row, i), a_(row, j));
    std::swap(order_[i], order_[j]);
    std::swap(norms_[i], norms_[j]);
    std::swap(computed_norms_[i], computed_norms_[j]);
  }
  void ComputeNorm(int64_t c, int64_t first) {
    const double norm = LineNorm(lines_, c, first);
    // A NaN is never chosen as pivot while there are numbers.
    norms_[c] = computed_norms_[c] = std::isnan(norm) ? -1 : norm;
  }
  // Downdates a norm by one element; recomputes it after severe cancellation.
  void DowndateNorm(int64_t c, int64_t row) {
    double& norm = norms_[c];
    if (norm == 0) return;
    const double part = std::abs(lines_(c, row)) / norm, rest = std::max(0.0, 1 - part * part);
    const double shrunk = norm / computed_norms_[c];
    if (rest * shrunk * shrunk > std::sqrt(std::numeric_limits<double>::epsilon()))
      norm *= std::sqrt(rest);
    else
      ComputeNorm(c, row + 1);
  }

  Matrix<T> a_;
  int64_t stride_, fixed_ = 0;
  Scratch<T> memory_;
  Matrix<T> lines_;  // The columns; v for finished ones.
  cpu::CachedVector<int64_t> order_;
  cpu::CachedVector<double> norms_, computed_norms_;  // Norms of the remaining parts.
};

}  // namespace

int64_t Geqp3ScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes) {
  constexpr int64_t kOther = sizeof(int64_t) + 2 * sizeof(double);
  return columns * (PaddedLength(rows, element_bytes) * element_bytes + kOther);
}

template <class T>
void Geqp3(Matrix<T> a, absl::Span<int64_t> pivots, absl::Span<T> taus) {
  PivotedQr<T> qr(a, pivots);
  const auto steps = static_cast<int64_t>(taus.size());
  for (int64_t j = 0; j < steps; ++j) taus[j] = qr.Step(j);
  qr.Finish(steps, pivots);
}

template void Geqp3(Matrix<double>, absl::Span<int64_t>, absl::Span<double>);
template void Geqp3(Matrix<Complex>, absl::Span<int64_t>, absl::Span<Complex>);

}  // namespace hlo::lapack
