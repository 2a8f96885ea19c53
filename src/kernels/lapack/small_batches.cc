#include "kernels/lapack/small_batches.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/simd/vector_functions.h"
#include "kernels/lapack/lanes.h"

namespace hlo::lapack {
namespace {

using Integers = cpu::Vector<int64_t>;

constexpr int64_t kGroup = cpu::kLanes<double>;  // Matrices that are computed together.
constexpr int64_t kMostRows = 16, kMostElements = 512;
constexpr int64_t kFewest = kGroup / 2;

bool Any(Integers mask) { return cpu::internal::AnyLane(cpu::BitsOf<cpu::Vector<int32_t>>(mask)); }

// Element e of the matrices of a group; matrix k is in lane k.
struct Group {
  alignas(64) Lanes elements[kMostElements];
};

// The matrices of a batch in one group. The last group may have fewer matrices than lanes.
struct GroupRange {
  int64_t first, count;
};

template <class S>
Lanes LoadElements(const S* from, int64_t n) {
  if (n == kGroup) return cpu::LoadAs<double>(from);
  Lanes lanes{};
  for (int64_t i = 0; i < n; ++i) lanes[i] = from[i];
  return lanes;
}

template <class S>
void StoreElements(S* to, Lanes lanes, int64_t n) {
  if (n == kGroup) {
    const auto narrow = __builtin_convertvector(lanes, typename cpu::VectorOf<S, kGroup * sizeof(S)>::type);
    std::memcpy(to, &narrow, sizeof narrow);
    return;
  }
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<S>(lanes[i]);
}

// Calls visit(begin, n) for squares of elements; the last full one may overlap its predecessor.
template <class Visit>
void EachSquare(int64_t elements, Visit&& visit) {
  if (elements < kGroup) return visit(0, elements);
  for (int64_t e = 0; e < elements; e += kGroup) visit(std::min(e, elements - kGroup), kGroup);
}

template <class S>
void LoadGroup(const S* matrices, int64_t elements, GroupRange range, Group& group) {
  EachSquare(elements, [&](int64_t begin, int64_t n) {
    Lanes square[kGroup];
    for (int64_t k = 0; k < kGroup; ++k) {
      // The lanes without a matrix compute the last one.
      const int64_t number = range.first + std::min(k, range.count - 1);
      square[k] = LoadElements(matrices + number * elements + begin, n);
    }
    cpu::Transpose<double>(square);
    std::copy_n(square, n, group.elements + begin);
  });
}

// Stores the matrices whose bit in `stored` is set.
template <class S>
void StoreGroup(const Group& group, int64_t elements, GroupRange range, uint64_t stored, S* matrices) {
  EachSquare(elements, [&](int64_t begin, int64_t n) {
    Lanes square[kGroup] = {};
    std::copy_n(group.elements + begin, n, square);
    cpu::Transpose<double>(square);
    for (int64_t k = 0; k < range.count; ++k) {
      if ((stored >> k & 1) != 0)
        StoreElements(matrices + (range.first + k) * elements + begin, square[k], n);
    }
  });
}

void Load(const SmallBatch& batch, GroupRange range, Group& group) {
  const int64_t elements = batch.rows * batch.columns;
  if (batch.type == ElementType::kF32)
    LoadGroup(static_cast<const float*>(batch.data), elements, range, group);
  else
    LoadGroup(static_cast<const double*>(batch.data), elements, range, group);
}

void Store(const Group& group, const SmallBatch& like, GroupRange range, uint64_t stored, void* to) {
  const int64_t elements = like.rows * like.columns;
  if (like.type == ElementType::kF32)
    StoreGroup(group, elements, range, stored, static_cast<float*>(to));
  else
    StoreGroup(group, elements, range, stored, static_cast<double*>(to));
}

void EachGroup(const SmallBatch& batch, double nanoseconds, absl::FunctionRef<void(GroupRange)> visit) {
  constexpr int64_t kGroupsPerCall = 4;
  const int64_t groups = CeilDiv(batch.count, kGroup), calls = CeilDiv(groups, kGroupsPerCall);
  ParallelFor(calls, nanoseconds * static_cast<double>(groups), [&](int64_t call) {
    const int64_t end = std::min(groups, (call + 1) * kGroupsPerCall);
    for (int64_t g = call * kGroupsPerCall; g < end; ++g)
      visit({g * kGroup, std::min(kGroup, batch.count - g * kGroup)});
  });
}

// A matrix of lanes.
struct LaneMatrix {
  Lanes* data;
  int64_t row_stride, column_stride;
  Lanes& operator()(int64_t i, int64_t j) const { return data[i * row_stride + j * column_stride]; }
};

// --- LU factors

// Swaps rows j and p, which differs by lane.
void SwapRows(const LaneMatrix& a, int64_t rows, int64_t columns, int64_t j, Integers p) {
  for (int64_t i = j + 1; i < rows; ++i) {
    const Integers here = p == i;
    if (!Any(here)) continue;
    for (int64_t c = 0; c < columns; ++c) {
      const Lanes upper = a(j, c), lower = a(i, c);
      a(j, c) = here ? lower : upper;
      a(i, c) = here ? upper : lower;
    }
  }
}

// Subtracts multiples of row j from the rows below it, except in lanes whose pivot is zero.
void Eliminate(const LaneMatrix& a, int64_t rows, int64_t columns, int64_t j, Integers is_zero) {
  const bool any_zero = Any(is_zero);
  const Lanes pivot = is_zero ? cpu::Broadcast(1.0) : a(j, j);
  for (int64_t i = j + 1; i < rows; ++i) {
    const Lanes factor = a(i, j) = a(i, j) / pivot;
    if (any_zero) {
      for (int64_t c = j + 1; c < columns; ++c) {
        const Lanes x = a(i, c);
        a(i, c) = is_zero ? x : x - factor * a(j, c);
      }
    } else {
      for (int64_t c = j + 1; c < columns; ++c) a(i, c) -= factor * a(j, c);
    }
  }
}

// Returns the number of the first zero pivot in each lane.
Integers FactorLu(const LaneMatrix& a, int64_t rows, int64_t columns, Integers* pivots) {
  Integers first_zero{};
  for (int64_t j = 0; j < std::min(rows, columns); ++j) {
    const auto size = [&](int64_t i) { return a(i, j) < 0 ? -a(i, j) : a(i, j); };
    Lanes most = size(j);
    Integers p = Integers{} + j;
    for (int64_t i = j + 1; i < rows; ++i) {
      const Lanes x = size(i);
      p = x > most ? Integers{} + i : p;
      most = x > most ? x : most;
    }
    pivots[j] = p;
    SwapRows(a, rows, columns, j, p);
    const Integers is_zero = a(j, j) == 0;
    first_zero = (is_zero & (first_zero == 0)) ? Integers{} + (j + 1) : first_zero;
    Eliminate(a, rows, columns, j, is_zero);
  }
  return first_zero;
}

// --- Triangular systems

// Solves for kWidth right sides, the columns of x from c on. Row 0 of a lower triangle comes first.
template <int kWidth>
void Substitute(const LaneMatrix& a, bool unit_diagonal, const LaneMatrix& x, int64_t n, int64_t c) {
  for (int64_t i = 0; i < n; ++i) {
    Lanes sums[kWidth];
    for (int w = 0; w < kWidth; ++w) sums[w] = x(i, c + w);
    for (int64_t k = 0; k < i; ++k) {
      const Lanes factor = a(i, k);
      for (int w = 0; w < kWidth; ++w) sums[w] -= factor * x(k, c + w);
    }
    for (int w = 0; w < kWidth; ++w) x(i, c + w) = unit_diagonal ? sums[w] : sums[w] / a(i, i);
  }
}

// Reverses the order of rows and, if `both`, of columns.
LaneMatrix Reversed(const LaneMatrix& a, int64_t n, bool both) {
  return {&a(n - 1, both ? n - 1 : 0), -a.row_stride, both ? -a.column_stride : a.column_stride};
}

// --- Cholesky factors

// Subtracts the previous columns of the factor, times their elements in row j, from column j.
void SubtractColumns(const LaneMatrix& l, int64_t n, int64_t j) {
  int64_t k = 0;
  for (; k + 4 <= j; k += 4) {
    const Lanes s0 = l(j, k), s1 = l(j, k + 1), s2 = l(j, k + 2), s3 = l(j, k + 3);
    for (int64_t i = j; i < n; ++i)
      l(i, j) -= (s0 * l(i, k) + s1 * l(i, k + 1)) + (s2 * l(i, k + 2) + s3 * l(i, k + 3));
  }
  for (; k < j; ++k) {
    const Lanes s = l(j, k);
    for (int64_t i = j; i < n; ++i) l(i, j) -= s * l(i, k);
  }
}

// Returns the lanes of the matrices that have a factor.
Integers FactorCholesky(const LaneMatrix& l, int64_t n) {
  Integers succeeds = Integers{} - 1;
  for (int64_t j = 0; j < n; ++j) {
    SubtractColumns(l, n, j);
    succeeds &= l(j, j) > 0;
    Lanes root = succeeds ? l(j, j) : cpu::Broadcast(1.0);
    for (int64_t k = 0; k < kGroup; ++k) root[k] = std::sqrt(root[k]);
    l(j, j) = root;
    for (int64_t i = j + 1; i < n; ++i) l(i, j) /= root;
  }
  return succeeds;
}

}  // namespace

bool IsSmallBatch(ElementType type, int64_t count, int64_t rows, int64_t columns) {
  return (type == ElementType::kF32 || type == ElementType::kF64) && count >= kFewest && rows > 0 &&
         columns > 0 && rows <= kMostRows && columns <= kMostRows;
}

bool AreSmallRightSides(int64_t rows, int64_t columns) { return rows * columns <= kMostElements; }

void SmallLu(const SmallBatch& a, void* factors, int32_t* pivots, int32_t* infos) {
  const int64_t m = a.rows, n = a.columns, k = std::min(m, n);
  const double nanoseconds = 100 + static_cast<double>(m * n * k);
  EachGroup(a, nanoseconds, [&](GroupRange range) {
    Group group;
    Integers swaps[kMostRows];
    Load(a, range, group);
    const Integers info = FactorLu({group.elements, n, 1}, m, n, swaps);
    if (factors != nullptr) Store(group, a, range, ~uint64_t{0}, factors);
    for (int64_t lane = 0; lane < range.count; ++lane) {
      const int64_t number = range.first + lane;
      if (infos != nullptr) infos[number] = static_cast<int32_t>(info[lane]);
      for (int64_t j = 0; j < k && pivots != nullptr; ++j)
        pivots[number * k + j] = static_cast<int32_t>(swaps[j][lane] + 1);
    }
  });
}

void SmallSolve(const SmallBatch& a, const SmallBatch& b, const TriangleOptions& options, void* to) {
  const int64_t n = a.rows, columns = options.left ? b.columns : b.rows;
  // x op(a) = b is equivalent to op(a)^T x^T = b^T.
  const bool transposed = (options.op != MatrixOp::kNone) == options.left;
  const double nanoseconds = 100 + static_cast<double>(n * n * (columns + 1));
  EachGroup(a, nanoseconds, [&](GroupRange range) {
    Group triangle, sides;
    Load(a, range, triangle);
    Load(b, range, sides);
    LaneMatrix l{triangle.elements, transposed ? 1 : n, transposed ? n : 1};
    LaneMatrix x{sides.elements, options.left ? b.columns : 1, options.left ? 1 : b.columns};
    if (options.lower == transposed) {
      l = Reversed(l, n, /*both=*/true);
      x = Reversed(x, n, /*both=*/false);
    }
    constexpr int kWide = 4;
    int64_t c = 0;
    for (; c + kWide <= columns; c += kWide) Substitute<kWide>(l, options.unit_diagonal, x, n, c);
    for (; c < columns; ++c) Substitute<1>(l, options.unit_diagonal, x, n, c);
    Store(sides, b, range, ~uint64_t{0}, to);
  });
}

void SmallCholesky(const SmallBatch& a, bool lower, bool clears, void* factors, int32_t* infos,
                   absl::FunctionRef<void(int64_t)> failed) {
  const int64_t n = a.rows;
  EachGroup(a, 100 + static_cast<double>(n * n * n), [&](GroupRange range) {
    Group group;
    Load(a, range, group);
    const LaneMatrix l{group.elements, lower ? n : 1, lower ? 1 : n};
    const Integers succeeds = FactorCholesky(l, n);
    for (int64_t i = 0; i < n && clears; ++i) {
      for (int64_t j = i + 1; j < n; ++j) l(i, j) = Lanes{};
    }
    uint64_t stored = 0;
    for (int64_t lane = 0; lane < range.count; ++lane) stored |= uint64_t{succeeds[lane] != 0} << lane;
    if (factors != nullptr) Store(group, a, range, stored, factors);
    for (int64_t lane = 0; lane < range.count; ++lane) {
      const int64_t number = range.first + lane;
      if ((stored >> lane & 1) == 0)
        failed(number);
      else if (infos != nullptr)
        infos[number] = 0;
    }
  });
}

}  // namespace hlo::lapack
