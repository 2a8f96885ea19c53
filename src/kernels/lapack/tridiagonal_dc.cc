#include "kernels/lapack/tridiagonal_dc.h"

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

// A diagonal block of the matrix, with scratch memory of its own.
struct EigenBlock {
  int64_t n;
  double* diagonal;
  Matrix<double> rows;
  int64_t* order;
  double *distances, *gathered;
  double norm;  // The approximate norm of the whole matrix.
};

// Deflates row p if its eigenvalue is close to q's, which is the larger one: rotates rows p and q so that
// z[p] becomes 0, if the error is within rounding. Returns true on success.
bool Deflates(const EigenBlock& b, int64_t p, int64_t q, double* z, double tolerance, Selection& selection) {
  const double norm = std::hypot(z[p], z[q]), c = z[q] / norm, s = z[p] / norm;
  const double low = b.diagonal[p], high = b.diagonal[q];
  if (std::abs((high - low) * c * s) > tolerance) return false;
  z[q] = norm;
  z[p] = 0;
  RotateRows(&b.rows(q, 0), &b.rows(p, 0), c, s, 0, b.n);
  b.diagonal[p] = low * c * c + high * s * s;
  b.diagonal[q] = low * s * s + high * c * c;
  if (selection.halves[p] != selection.halves[q]) selection.halves[q] = Half::kBoth;
  return true;
}

Selection Select(const EigenBlock& b, int64_t split, double weight, double* z) {
  Selection selection(b.n);
  // Values that are negligible in the whole matrix are deflated; their squares might underflow.
  double largest = std::max(weight, b.norm * kTolerance);
  for (int64_t i = 0; i < b.n; ++i) {
    selection.halves[i] = i < split ? Half::kFirst : Half::kSecond;
    largest = std::max(largest, std::abs(b.diagonal[i]));
  }
  const double tolerance = kTolerance * largest;
  cpu::CachedVector<int64_t> order(b.n);
  MergeOrders(b.diagonal, b.order, split, b.order + split, b.n - split, split, order.data());
  int64_t before = -1;
  for (const int64_t i : order) {
    if (weight * std::abs(z[i]) <= tolerance) {
      selection.deflated.push_back(i);
      continue;
    }
    if (before >= 0) {
      const bool deflates = Deflates(b, before, i, z, tolerance, selection);
      (deflates ? selection.deflated : selection.kept).push_back(before);
    }
    before = i;
  }
  if (before >= 0) selection.kept.push_back(before);
  return selection;
}

// Computes row i as the eigenvector of root i: weights[j] / distances(i, j), of norm 1, in the grouping's
// order.
void MakeCoefficients(const Grouping& grouping, const cpu::CachedVector<double>& z, double* distances,
                      int64_t stride) {
  constexpr int64_t kRows = 16;
  const int64_t n = grouping.count();
  ParallelFor(CeilDiv(n, kRows), static_cast<double>(n * n), [&](int64_t block) {
    cpu::CachedVector<double> vector(n);
    for (int64_t i = block * kRows; i < std::min(n, (block + 1) * kRows); ++i) {
      double* row = distances + i * stride;
      for (int64_t j = 0; j < n; ++j) vector[j] = z[j] / row[j];
      const double inverse = 1 / std::sqrt(Dot(vector.data(), vector.data(), 0, n));
      for (int64_t j = 0; j < n; ++j) row[grouping.positions[j]] = vector[j] * inverse;
    }
  });
}

void SolveKept(const EigenBlock& b, const Selection& selection, double weight, const double* z,
               int64_t split) {
  const Grouping grouping(selection);
  const int64_t n = grouping.count(), stride = PaddedLength<double>(n);
  cpu::CachedVector<double> poles(n), weights(n), roots(n);
  for (int64_t j = 0; j < n; ++j) {
    const int64_t row = selection.kept[j];
    poles[j] = b.diagonal[row];
    weights[j] = weight * z[row] * z[row];
  }
  SolveSecularEquation({n, poles.data(), weights.data()}, roots.data(), b.distances, stride, weights.data());
  for (int64_t j = 0; j < n; ++j) weights[j] = std::copysign(std::sqrt(weights[j]), z[selection.kept[j]]);
  MakeCoefficients(grouping, weights, b.distances, stride);
  CombineRows(selection, grouping, {b.distances, n, n, stride, 1}, b.rows, split, b.gathered);
  for (const int64_t row : selection.deflated) roots.push_back(b.diagonal[row]);
  std::copy(roots.begin(), roots.end(), b.diagonal);
}

// Merges the solved halves, the first `split` rows and the others, which `off_diagonal` connects.
void MergeHalves(const EigenBlock& b, int64_t split, double off_diagonal) {
  const double weight = std::abs(off_diagonal);
  cpu::CachedVector<double> z(b.n);
  for (int64_t i = 0; i < split; ++i) z[i] = b.rows(i, split - 1);
  for (int64_t i = split; i < b.n; ++i) z[i] = std::copysign(1.0, off_diagonal) * b.rows(i, split);
  const Selection selection = Select(b, split, weight, z.data());
  SolveKept(b, selection, weight, z.data(), split);
  SortByValue(b.diagonal, b.n, b.order);
}

int64_t SolveEigenLeaf(const EigenBlock& b, double* off_diagonal) {
  for (int64_t i = 0; i < b.n; ++i) b.rows(i, i) = 1;
  const int64_t info = TridiagonalQr(b.n, b.diagonal, off_diagonal, {b.rows.data, b.rows.row_stride, b.n});
  SortByValue(b.diagonal, b.n, b.order);
  return info;
}

int64_t EigenLevelCount(int64_t n) {
  int64_t levels = 0;
  while (((n - 1) >> levels) + 1 > kLeaf) ++levels;
  return levels;
}

}  // namespace

int64_t TridiagonalEigen(int64_t n, double* diagonal, double* off_diagonal, const Matrix<double>& rows,
                         int64_t* order) {
  const int64_t levels = EigenLevelCount(n), stride = PaddedLength<double>(n);
  for (int64_t i = 0; i < n; ++i) std::fill_n(&rows(i, 0), n, 0.0);
  const Scratch<double> scratch(levels == 0 ? 0 : 2 * n * stride);
  const double norm = LargestElement(n, diagonal, off_diagonal);
  const auto begin = [&](int64_t i, int64_t level) { return (n * i) >> level; };
  const auto block = [&](int64_t i, int64_t level) {
    const int64_t first = begin(i, level), count = begin(i + 1, level) - first;
    double* memory = scratch.data() + 2 * first * stride;
    return EigenBlock{.n = count,
                      .diagonal = diagonal + first,
                      .rows = rows.Block(first, first, count, count),
                      .order = order + first,
                      .distances = memory,
                      .gathered = memory + count * stride,
                      .norm = norm};
  };
  for (int64_t i = 1; i < int64_t{1} << levels; ++i) {
    const int64_t row = begin(i, levels);
    diagonal[row - 1] -= std::abs(off_diagonal[row - 1]);
    diagonal[row] -= std::abs(off_diagonal[row - 1]);
  }
  std::atomic<bool> fails = false;
  ParallelFor(int64_t{1} << levels, static_cast<double>(n * kLeaf * kLeaf), [&](int64_t i) {
    if (SolveEigenLeaf(block(i, levels), off_diagonal + begin(i, levels)) != 0) fails = true;
  });
  for (int64_t level = levels - 1; level >= 0; --level) {
    const auto size = static_cast<double>(n >> level);
    EachMerge(int64_t{1} << level, size * size * (20 + 0.05 * size), [&](int64_t i) {
      const int64_t first = begin(i, level), middle = begin(2 * i + 1, level + 1);
      MergeHalves(block(i, level), middle - first, off_diagonal[middle - 1]);
    });
  }
  return fails ? 1 : 0;
}

int64_t TridiagonalEigenScratchBytes(int64_t n) {
  return EigenLevelCount(n) == 0 ? 0 : 2 * n * PaddedLength<double>(n) * static_cast<int64_t>(sizeof(double));
}

}  // namespace hlo::lapack
