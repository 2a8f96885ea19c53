#pragma once
// What merging two solved halves of a tridiagonal or bidiagonal matrix takes besides the secular equation.

#include <cstdint>
#include <limits>

#include "absl/functional/function_ref.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/lapack/product.h"

namespace hlo::factor {

// Of the largest element: what is rounding.
inline constexpr double kTolerance = 4 * std::numeric_limits<double>::epsilon();
// Matrices that are not divided.
inline constexpr int64_t kLeaf = 24;

// Which columns of a vector, a row of its matrix, are not 0: those before `split`, from there on, or all.
enum class Half : uint8_t { kFirst, kBoth, kSecond };

// Rows that take part in a merge, ascending by their poles, and rows that stay as they are.
struct Selection {
  explicit Selection(int64_t n) : halves(n) {
    kept.reserve(n);
    deflated.reserve(n);
  }
  cpu::KeptVector<int64_t> kept, deflated;
  cpu::KeptVector<Half> halves;  // By row.
};

// The rows that are kept, first those of the first half, last those of the second.
struct Grouping {
  explicit Grouping(const Selection& selection);
  int64_t count() const { return static_cast<int64_t>(rows.size()); }
  cpu::KeptVector<int64_t> rows;    // Which row stands at a place,
  cpu::KeptVector<int64_t> places;  // and at which one that of pole j.
  int64_t begin_second = 0, end_first = 0;
};

// Rows 0 to kept.size() become combinations of those that are kept, in the grouping's order; those behind
// them the deflated ones. `scratch` holds as many elements as `rows`.
void CombineRows(const Selection& selection, const Grouping& grouping,
                 const Matrix<const double>& coefficients, const Matrix<double>& rows, int64_t split,
                 double* scratch);

// Numbers 0 to n in the order of their values.
void SortByValue(const double* values, int64_t n, int64_t* order);

// The numbers of two runs that are sorted, those of the second counted from `split` on, in one order.
void MergeOrders(const double* values, const int64_t* first, int64_t first_count, const int64_t* second,
                 int64_t second_count, int64_t split, int64_t* order);

// body(i) for the merges of one level: side by side where there is one for each thread, else one after the
// other, each on all threads.
void EachMerge(int64_t count, double nanoseconds, absl::FunctionRef<void(int64_t)> body);

}  // namespace hlo::factor
