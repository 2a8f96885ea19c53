#pragma once
// This file declares the parts of a divide-and-conquer merge other than the secular equation, for tridiagonal
// and bidiagonal matrices.

#include <cstdint>
#include <limits>

#include "absl/functional/function_ref.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/lapack/product.h"

namespace hlo::lapack {

// The rounding threshold relative to the largest element.
inline constexpr double kTolerance = 4 * std::numeric_limits<double>::epsilon();
// The largest size that is not divided.
inline constexpr int64_t kLeaf = 24;

// The nonzero columns of a vector, which is a row of its matrix: those before `split`, those from it on, or
// all.
enum class Half : uint8_t { kFirst, kBoth, kSecond };

// Rows that take part in a merge, in ascending order of their poles, and deflated rows.
struct Selection {
  explicit Selection(int64_t n) : halves(n) {
    kept.reserve(n);
    deflated.reserve(n);
  }
  cpu::CachedVector<int64_t> kept, deflated;
  cpu::CachedVector<Half> halves;  // Indexed by row.
};

// The kept rows, sorted by half: those of the first half first, those of the second half last.
struct Grouping {
  explicit Grouping(const Selection& selection);
  int64_t count() const { return static_cast<int64_t>(rows.size()); }
  cpu::CachedVector<int64_t> rows;       // The row at each position.
  cpu::CachedVector<int64_t> positions;  // The position of each pole.
  int64_t begin_second = 0, end_first = 0;
};

// Replaces rows 0, ..., kept.size() - 1 by combinations of the kept rows in the order of the grouping; the
// deflated rows follow. `scratch` holds as many elements as `rows`.
void CombineRows(const Selection& selection, const Grouping& grouping,
                 const Matrix<const double>& coefficients, const Matrix<double>& rows, int64_t split,
                 double* scratch);

// Sorts the indices 0, ..., n - 1 by their values.
void SortByValue(const double* values, int64_t n, int64_t* order);

// Merges two sorted index lists by value. Indices of the second list are relative to `split`.
void MergeOrders(const double* values, const int64_t* first, int64_t first_count, const int64_t* second,
                 int64_t second_count, int64_t split, int64_t* order);

// Calls body(i) for the merges of a level: in parallel if there are at least as many as threads, otherwise in
// sequence, each with all threads.
void EachMerge(int64_t count, double nanoseconds, absl::FunctionRef<void(int64_t)> body);

}  // namespace hlo::lapack
