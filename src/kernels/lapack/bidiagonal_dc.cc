#include "kernels/lapack/bidiagonal_dc.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/lapack/lanes.h"
#include "kernels/lapack/merge.h"
#include "kernels/lapack/scratch.h"
#include "kernels/lapack/secular.h"
#include "kernels/lapack/small_spectra.h"

namespace hlo::lapack {
namespace {

// A diagonal block of n rows, with an extra column if it is `wide`. The right singular vector of the null
// space is then row n of `right`.
struct SvdBlock {
  int64_t n;
  bool wide;
  double* diagonal;
  Matrix<double> left, right;
  int64_t* order;
  double *distances, *coefficients, *gathered;

  int64_t columns() const { return n + (wide ? 1 : 0); }
  void Rotate(const Matrix<double>& rows, int64_t i, int64_t j, double c, double s) const {
    RotateRows(&rows(i, 0), &rows(j, 0), c, s, 0, rows.columns);
  }
};

// Merges the solved upper and lower halves of a block. In the basis of their singular vectors the block is
// diagonal except for row `middle`, whose elements are z.
class SvdMerge {
 public:
  SvdMerge(const SvdBlock& block, int64_t middle, double diagonal, double off_diagonal, double norm)
      : b_(block), middle_(middle), selection_(block.n), z_(block.columns()) {
    double largest = std::max({std::abs(diagonal), std::abs(off_diagonal), norm * kTolerance});
    b_.diagonal[middle] = 0;
    for (int64_t i = 0; i < b_.n; ++i) largest = std::max(largest, b_.diagonal[i]);
    tolerance_ = kTolerance * largest;
    for (int64_t i = 0; i <= middle; ++i) z_[i] = diagonal * b_.right(i, middle);
    for (int64_t i = middle + 1; i < b_.columns(); ++i) z_[i] = off_diagonal * b_.right(i, middle + 1);
  }

  void Run() {
    FillMiddle();
    if (tolerance_ > 0) {  // Otherwise the whole matrix is 0.
      Select();
      Solve();
    }
    SortByValue(b_.diagonal, b_.n, b_.order);
  }

 private:
  // Sets the left vector of the middle row. If there is an extra column, a rotation of the two null vectors
  // makes one of them orthogonal to the middle row.
  void FillMiddle() {
    b_.left(middle_, middle_) = 1;
    if (!b_.wide) return;
    const Rotation rotation = MakeRotation(z_[middle_], z_[b_.n]);
    b_.Rotate(b_.right, middle_, b_.n, rotation.c, rotation.s);
    z_[middle_] = rotation.r;
  }

  void Select() {
    for (int64_t i = 0; i < b_.n; ++i) selection_.halves[i] = i < middle_ ? Half::kFirst : Half::kSecond;
    selection_.halves[middle_] = Half::kBoth;
    const int64_t second = middle_ + 1, count = b_.n - second;
    cpu::CachedVector<int64_t> order(b_.n - 1);
    MergeOrders(b_.diagonal, b_.order, middle_, b_.order + second, count, second, order.data());
    selection_.kept.push_back(middle_);
    int64_t before = -1;
    for (const int64_t i : order) {
      if (DeflatesAlone(i)) {
        selection_.deflated.push_back(i);
        continue;
      }
      if (before >= 0) (Deflates(before, i) ? selection_.deflated : selection_.kept).push_back(before);
      before = i;
    }
    if (before >= 0) selection_.kept.push_back(before);
    if (std::abs(z_[middle_]) < tolerance_) z_[middle_] = std::copysign(tolerance_, z_[middle_]);
  }

  // Deflates a row with a negligible z, or one with a negligible singular value by a rotation.
  bool DeflatesAlone(int64_t i) {
    if (std::abs(z_[i]) <= tolerance_) return true;
    if (b_.diagonal[i] > tolerance_) return false;
    const Rotation rotation = MakeRotation(z_[middle_], z_[i]);
    b_.Rotate(b_.right, middle_, i, rotation.c, rotation.s);
    z_[middle_] = rotation.r;
    return true;
  }

  // Deflates one of two equal singular values: rotates the vectors so that z[p] becomes 0.
  bool Deflates(int64_t p, int64_t q) {
    if (b_.diagonal[q] - b_.diagonal[p] > tolerance_) return false;
    const Rotation rotation = MakeRotation(z_[q], z_[p]);
    z_[q] = rotation.r;
    b_.Rotate(b_.left, q, p, rotation.c, rotation.s);
    b_.Rotate(b_.right, q, p, rotation.c, rotation.s);
    if (selection_.halves[p] != selection_.halves[q]) selection_.halves[q] = Half::kBoth;
    return true;
  }

  void Solve() {
    const Grouping grouping(selection_);
    const int64_t n = grouping.count(), stride = PaddedLength<double>(n);
    cpu::CachedVector<double> poles(n), weights(n), roots(n);
    for (int64_t j = 0; j < n; ++j) {
      poles[j] = b_.diagonal[selection_.kept[j]];
      weights[j] = z_[selection_.kept[j]] * z_[selection_.kept[j]];
    }
    SolveSecularEquation({n, poles.data(), weights.data(), true}, roots.data(), b_.distances, stride,
                         weights.data());
    for (int64_t j = 0; j < n; ++j) weights[j] = std::copysign(std::sqrt(weights[j]), z_[selection_.kept[j]]);
    MakeCoefficients(grouping, poles.data(), weights.data(), stride);
    const Matrix<double> rows = b_.right.Block(0, 0, b_.n, b_.columns());
    CombineRows(selection_, grouping, {b_.coefficients, n, n, stride, 1}, b_.left, middle_ + 1, b_.gathered);
    CombineRows(selection_, grouping, {b_.distances, n, n, stride, 1}, rows, middle_ + 1, b_.gathered);
    for (const int64_t row : selection_.deflated) roots.push_back(b_.diagonal[row]);
    std::copy(roots.begin(), roots.end(), b_.diagonal);
  }

  // Computes row i for root i: the right vectors z[j] / (pole j^2 - root^2), which replace the distances, and
  // the left vectors, scaled by pole j, with -1 first. All have norm 1 and are in the order of the grouping.
  void MakeCoefficients(const Grouping& grouping, const double* poles, const double* z,
                        int64_t stride) const {
    constexpr int64_t kRows = 16;
    const int64_t n = grouping.count();
    ParallelFor(CeilDiv(n, kRows), 2 * static_cast<double>(n * n), [&](int64_t block) {
      cpu::CachedVector<double> right(n), left(n);
      for (int64_t i = block * kRows; i < std::min(n, (block + 1) * kRows); ++i) {
        double *to_right = b_.distances + i * stride, *to_left = b_.coefficients + i * stride;
        for (int64_t j = 0; j < n; ++j) {
          right[j] = z[j] / to_right[j];
          left[j] = poles[j] * right[j];
        }
        left[0] = -1;
        const double by_right = 1 / std::sqrt(Dot(right.data(), right.data(), 0, n));
        const double by_left = 1 / std::sqrt(Dot(left.data(), left.data(), 0, n));
        for (int64_t j = 0; j < n; ++j) {
          to_right[grouping.positions[j]] = right[j] * by_right;
          to_left[grouping.positions[j]] = left[j] * by_left;
        }
      }
    });
  }

  const SvdBlock b_;
  const int64_t middle_;
  Selection selection_;
  cpu::CachedVector<double> z_;
  double tolerance_ = 0;
};

// Eliminates the extra column by rotations from the right.
void MakeSquare(const SvdBlock& b, double* above) {
  double last = above[b.n - 1];
  for (int64_t i = b.n - 1; i >= 0; --i) {
    const Rotation rotation = MakeRotation(b.diagonal[i], last);
    b.diagonal[i] = rotation.r;
    b.Rotate(b.right, i, b.n, rotation.c, rotation.s);
    if (i == 0) break;
    last = -rotation.s * above[i - 1];
    above[i - 1] *= rotation.c;
  }
}

int64_t SolveSvdLeaf(const SvdBlock& b, double* above) {
  for (int64_t i = 0; i < b.n; ++i) b.left(i, i) = 1;
  for (int64_t i = 0; i < b.columns(); ++i) b.right(i, i) = 1;
  if (b.wide) MakeSquare(b, above);
  const int64_t info = BidiagonalQr(b.n, b.diagonal, above, {b.left.data, b.left.row_stride, b.n},
                                    {b.right.data, b.right.row_stride, b.columns()});
  for (int64_t i = 0; i < b.n; ++i) {
    if (!std::signbit(b.diagonal[i])) continue;
    b.diagonal[i] = -b.diagonal[i];
    for (int64_t j = 0; j < b.n; ++j) b.left(i, j) = -b.left(i, j);
  }
  SortByValue(b.diagonal, b.n, b.order);
  return info;
}

int64_t SvdLevelCount(int64_t n) {
  int64_t levels = 0;
  while ((n >> levels) > kLeaf) ++levels;
  return levels;
}

// The recursion tree of the matrix. A row between two parts of a level belongs to neither.
struct Division {
  int64_t n, stride;
  double* diagonal;
  Matrix<double> left, right;
  int64_t* order;
  double* scratch;

  int64_t Begin(int64_t i, int64_t level) const { return ((n + 1) * i) >> level; }
  SvdBlock Part(int64_t i, int64_t level) const {
    const int64_t first = Begin(i, level), count = Begin(i + 1, level) - 1 - first;
    const bool wide = first + count < n;
    const int64_t columns = count + (wide ? 1 : 0);
    double* memory = scratch + 3 * first * stride;
    return {.n = count,
            .wide = wide,
            .diagonal = diagonal + first,
            .left = left.Block(first, first, count, count),
            .right = right.Block(first, first, columns, columns),
            .order = order + first,
            .distances = memory,
            .coefficients = memory + columns * stride,
            .gathered = memory + 2 * columns * stride};
  }
};

}  // namespace

int64_t BidiagonalSingular(int64_t n, double* diagonal, double* above, const Matrix<double>& left,
                           const Matrix<double>& right, int64_t* order) {
  const int64_t levels = SvdLevelCount(n), stride = PaddedLength<double>(n);
  const double norm = LargestElement(n, diagonal, above);
  for (int64_t i = 0; i < n; ++i) {
    std::fill_n(&left(i, 0), n, 0.0);
    std::fill_n(&right(i, 0), n, 0.0);
  }
  const Scratch<double> scratch(levels == 0 ? 0 : 3 * n * stride);
  const Division division{n, stride, diagonal, left, right, order, scratch.data()};
  std::atomic<bool> fails = false;
  ParallelFor(int64_t{1} << levels, 3 * static_cast<double>(n * kLeaf * kLeaf), [&](int64_t i) {
    if (SolveSvdLeaf(division.Part(i, levels), above + division.Begin(i, levels)) != 0) fails = true;
  });
  for (int64_t level = levels - 1; level >= 0; --level) {
    const auto size = static_cast<double>(n >> level);
    EachMerge(int64_t{1} << level, size * size * (20 + 0.1 * size), [&](int64_t i) {
      const int64_t first = division.Begin(i, level), row = division.Begin(2 * i + 1, level + 1) - 1;
      SvdMerge(division.Part(i, level), row - first, diagonal[row], above[row], norm).Run();
    });
  }
  return fails ? 1 : 0;
}

int64_t BidiagonalSingularScratchBytes(int64_t n) {
  return SvdLevelCount(n) == 0 ? 0 : 3 * n * PaddedLength<double>(n) * static_cast<int64_t>(sizeof(double));
}

}  // namespace hlo::lapack
