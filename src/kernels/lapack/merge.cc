#include "kernels/lapack/merge.h"

#include <algorithm>
#include <numeric>

#include "base/parallel.h"

namespace hlo::lapack {

Grouping::Grouping(const Selection& selection)
    : rows(selection.kept.size()), positions(selection.kept.size()) {
  int64_t position = 0;
  for (const Half half : {Half::kFirst, Half::kBoth, Half::kSecond}) {
    if (half == Half::kBoth) begin_second = position;
    if (half == Half::kSecond) end_first = position;
    for (size_t j = 0; j < rows.size(); ++j) {
      if (selection.halves[selection.kept[j]] != half) continue;
      rows[position] = selection.kept[j];
      positions[j] = position++;
    }
  }
}

void CombineRows(const Selection& selection, const Grouping& grouping,
                 const Matrix<const double>& coefficients, const Matrix<double>& rows, int64_t split,
                 double* scratch) {
  const int64_t n = grouping.count(), width = rows.columns;
  const auto gather = [&](const int64_t* numbers, int64_t count, int64_t begin, int64_t end) {
    const Matrix<double> to = Matrix<double>::Dense(scratch, count, end - begin);
    scratch += count * (end - begin);
    for (int64_t i = 0; i < count; ++i) std::copy_n(&rows(numbers[i], begin), end - begin, &to(i, 0));
    return to;
  };
  const int64_t* numbers = grouping.rows.data();
  const Matrix<double> first = gather(numbers, grouping.end_first, 0, split);
  const Matrix<double> second =
      gather(numbers + grouping.begin_second, n - grouping.begin_second, split, width);
  const auto deflated_count = static_cast<int64_t>(selection.deflated.size());
  const Matrix<double> deflated = gather(selection.deflated.data(), deflated_count, 0, width);
  const auto combine = [&](const Matrix<double>& from, int64_t first, int64_t column) {
    const Matrix<double> to = rows.Block(0, column, n, from.columns);
    if (n == 0 || from.columns == 0) return;
    if (from.rows == 0) {
      for (int64_t i = 0; i < n; ++i) std::fill_n(&to(i, 0), to.columns, 0.0);
    } else {
      Product<double>(Plain(coefficients.Block(0, first, n, from.rows)), Plain(from), to);
    }
  };
  combine(first, 0, 0);
  combine(second, grouping.begin_second, split);
  for (int64_t i = 0; i < deflated_count; ++i) std::copy_n(&deflated(i, 0), width, &rows(n + i, 0));
}

void SortByValue(const double* values, int64_t n, int64_t* order) {
  std::iota(order, order + n, 0);
  std::sort(order, order + n, [values](int64_t i, int64_t j) {
    return values[i] < values[j] || (values[i] == values[j] && i < j);
  });
}

void MergeOrders(const double* values, const int64_t* first, int64_t first_count, const int64_t* second,
                 int64_t second_count, int64_t split, int64_t* order) {
  int64_t i = 0, j = 0;
  while (i < first_count || j < second_count) {
    const bool takes_first =
        j == second_count || (i < first_count && values[first[i]] <= values[split + second[j]]);
    *order++ = takes_first ? first[i++] : split + second[j++];
  }
}

void EachMerge(int64_t count, double nanoseconds, absl::FunctionRef<void(int64_t)> body) {
  if (count >= ThreadCount()) return ParallelFor(count, static_cast<double>(count) * nanoseconds, body);
  for (int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace hlo::lapack
