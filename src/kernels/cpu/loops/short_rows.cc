#include "kernels/cpu/loops/short_rows.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/loops/accumulators.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kLongestRow = 160, kLongestSingleRow = 512;
// In more columns, the elements take longer than the setup of a row.
constexpr int64_t kMaxColumns = 128, kMaxElementsOfColumns = 32 << 10;

}  // namespace

ShortRows::ShortRows(loops::LoopProgram joined, int64_t length, const TileCall& fold)
    : program_(std::move(joined)),
      length_(length),
      count_(program_.inner_count() / length),
      width_(ComputeTypeBytes(program_.compute_type(program_.yields()[0]))),
      fold_(fold) {
  program_.AllowNativeCode();
}

std::shared_ptr<const ShortRows> ShortRows::Make(const loops::Reduction& reduction,
                                                 const loops::LoopProgram& body) {
  const int64_t length = body.inner_count(), count = body.outer_count();
  const bool folds = (reduction.fold.has_value() || !reduction.rows) && reduction.results.size() == 1 &&
                     body.yields().size() == 1 && body.stores().empty() && reduction.part_length == 1 &&
                     reduction.arg_min_max == loops::Reduction::ArgMinMax::kNone;
  const bool is_short = reduction.rows ? length <= (count == 1 ? kLongestSingleRow : kLongestRow)
                                       : length <= kMaxColumns && length * count <= kMaxElementsOfColumns;
  if (!folds || !is_short || length == 0 || count < (reduction.rows ? 1 : 2)) return nullptr;
  TileCall fold;
  if (reduction.rows) fold = FindRowsFold(*reduction.fold, reduction.results[0].init_type, length);
  return std::shared_ptr<const ShortRows>(new ShortRows(body.JoinRows(), length, fold));
}

template <class Visit>
void ShortRows::VisitRows(void* const* arguments, int64_t begin, int64_t end, const Visit& visit) const {
  program_.PrepareNativeCode(program_.nanoseconds_per_element() *
                             static_cast<double>((end - begin) * length_));
  TileRunner runner(program_, arguments);
  // A tile may not extend beyond the row of the joined program.
  const int64_t rows_per_row = program_.row() / length_;
  const int64_t most = std::max<int64_t>(1, program_.tile() / length_);
  for (int64_t row = begin; row < end;) {
    const int64_t rows = std::min({most, end - row, rows_per_row - row % rows_per_row});
    runner.RunTile(row * length_, rows * length_);
    visit(static_cast<const std::byte*>(runner.yielded(0)), row, rows);
    row += rows;
  }
}

void ShortRows::ReduceRows(void* const* arguments, int64_t begin, int64_t end, Accumulators& to) const {
  VisitRows(arguments, begin, end, [&](const std::byte* values, int64_t row, int64_t rows) {
    const void* const in[] = {values};
    fold_.function(rows, to.at(0, row - begin), in, fold_.parameter);
  });
}

void ShortRows::ReduceColumns(void* const* arguments, Accumulators& to) const {
  VisitRows(arguments, 0, count_, [&](const std::byte* values, int64_t /*row*/, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) to.CombineWithRow(0, length_, values + r * length_ * width_);
  });
}

}  // namespace hlo::cpu
