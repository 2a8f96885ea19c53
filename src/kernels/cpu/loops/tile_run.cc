// This file runs programs: it selects the way that suits the program, and divides the positions among
// threads.

#include <algorithm>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/loops/access_runs.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kChunk = 16 << 10;  // Maximum elements per work item.

}  // namespace

void TileProgram::PrepareCopy() {
  const Access &from = accesses()[steps_[0].access], &to = accesses()[stored_[0].access];
  absl::InlinedVector<CopyDim, 6> dims;
  for (size_t d = 0; d < outer_dims().size(); ++d)
    dims.push_back({outer_dims()[d], from.outer[d], to.outer[d]});
  for (size_t d = 0; d < inner_dims().size(); ++d)
    dims.push_back({inner_dims()[d], from.inner[d], to.inner[d]});
  copy_.emplace(dims, ByteCount(from.type));
}

void TileProgram::RunCopy(void* const* arguments) const {
  const Access &from = accesses()[steps_[0].access], &to = accesses()[stored_[0].access];
  const int64_t width = ByteCount(from.type);
  copy_->Run(static_cast<const std::byte*>(arguments[from.argument]) + StartOf(from, arguments) * width,
             static_cast<std::byte*>(arguments[to.argument]) + StartOf(to, arguments) * width);
}

void TileProgram::RunPositions(void* const* arguments, int64_t begin, int64_t end) const {
  if (begin == end) return;
  PrepareNativeCode(nanoseconds_ * static_cast<double>(end - begin));
  TileRunner(*this, arguments).RunTiles(begin, end);
}

void TileProgram::RunRows(void* const* arguments, int64_t begin, int64_t end) const {
  PrepareNativeCode(nanoseconds_ * static_cast<double>(inner_count()) * static_cast<double>(end - begin));
  TileRunner runner(*this, arguments);
  runner.BeginRows();
  runner.RunRows(begin, end);
}

// Returns true if a store must be skipped: the start of an update is out of bounds.
bool TileProgram::SkipsStore(void* const* arguments) const {
  return std::any_of(stored_.begin(), stored_.end(), [&](const TileStore& stored) {
    const Access& access = accesses()[stored.access];
    return access.drops &&
           std::any_of(access.starts.begin(), access.starts.end(), [&](const RuntimeStart& start) {
             const int64_t position = PositionOf(start, arguments);
             return position < 0 || position > start.max;
           });
  });
}

bool TileProgram::RunNativeRows(void* const* arguments) const {
  const NativeLoop* code = RunsOnRows() ? native_->code.get() : nullptr;
  if (code != nullptr) native_->rows->Run(source(), *code, arguments, nanoseconds());
  return code != nullptr;
}

bool TileProgram::RunDirectRowsInOrder(void* const* arguments) const {
  const NativeLoop* code = RunsOnRows() ? native_->code.get() : nullptr;
  if (code != nullptr) native_->rows->RunInOrder(source(), *code, arguments);
  return code != nullptr;
}

void TileProgram::Run(void* const* arguments) const {
  if (drops_ && SkipsStore(arguments)) return;
  if (small_.has_value() && native_ == nullptr) return small_->Run(arguments);
  if (inner_count() == 0 || outer_count() == 0) return;
  if (copy_.has_value()) return RunCopy(arguments);
  PrepareNativeCode();
  if (RunNativeRows(arguments)) return;
  if (outer_count() == 1 && inner_count() <= tile_ && (!accesses_.by_rows() || inner_dims().size() <= 1)) {
    TileRunner runner(*this, arguments);
    runner.RunTile(0, inner_count());
    return;
  }
  // If rows are long, tiles end with rows, so that rows are read in place.
  const int64_t row = accesses_.by_rows() ? inner_dims().back() : inner_count();
  const int64_t rows = outer_count() * (inner_count() / row);
  const int64_t rows_per_outer = inner_count() / row;
  const int64_t chunk_size = std::max(tile_, kChunk - kChunk % tile_);
  const int64_t pieces = CeilDiv(row, chunk_size);  // Pieces of a long row.
  const int64_t rows_per_chunk = std::max<int64_t>(1, chunk_size / row);
  const int64_t row_chunks = CeilDiv(rows, rows_per_chunk);
  ParallelFor(row_chunks * pieces, nanoseconds(), [&](int64_t chunk) {
    const int64_t first = chunk / pieces * rows_per_chunk, piece = chunk % pieces;
    TileRunner runner(*this, arguments);
    runner.ReadAhead();
    int64_t outer = 0;
    for (int64_t r = first; r < std::min(rows, first + rows_per_chunk); ++r) {
      if (r / rows_per_outer != outer) runner.SetOuter(outer = r / rows_per_outer);
      const int64_t origin = r % rows_per_outer * row;
      const int64_t end = std::min(row, (piece + 1) * chunk_size), tile = runner.tile();
      for (int64_t t = piece * chunk_size; t < end; t += tile)
        runner.RunTile(origin + t, std::min(tile, end - t));
    }
  });
}

}  // namespace hlo::cpu
